package claim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/resource"
)

// Owner is the owner of the data under a prefix.
type Owner string

// The owners.
const (
	Own        Owner = "own"            // a marker claims the prefix for revtail
	Unclaimed  Owner = "unclaimed"      // the prefix is empty: the first write of a client claims it
	Foreign    Owner = "foreign"        // another program wrote it
	Kubernetes Owner = "kube-apiserver" // a kube-apiserver wrote it, or uses this etcd
)

// Config has the prefix and the decisions of the operator. Store, Prefix, Logger and Builtin are required.
type Config struct {
	Store    etcdstore.Store
	Prefix   string // as /registry, without a slash at its end
	Adopt    bool   // claim the prefix, unless it is a kube-apiserver's
	Writable bool   // permit clients to write foreign data, unless it is a kube-apiserver's
	Cluster  bool   // the data is a kube-apiserver's, whatever is found
	Version  string // of this program, for the marker
	File     string // what Store reads, for people, if it is no etcd but a file of one: nothing is written; Adopt and Writable do not apply
	Logger   *slog.Logger

	// Builtin are the built-in kinds, kinds.Builtin. Data without a marker is revtail's own if revtail has written an object of one of them there,
	// or a CustomResourceDefinition.
	Builtin []*resource.Resource
}

// Claim knows the owner of the data under a prefix. It is safe for concurrent use.
type Claim struct {
	config Config

	state atomic.Pointer[State]

	mu       sync.Mutex    // guards the fields below, and is held while etcd is asked
	owned    chan struct{} // closed when the data has become revtail's own
	verified time.Time     // when etcd last said that the data is revtail's own
	history  uint64        // of the store, then
}

// State is the owner of the data, with the evidence for it.
type State struct {
	Owner    Owner
	Evidence string // a key that proves it; empty for Own and Unclaimed
	Reason   string // a sentence about Evidence; empty for Own and Unclaimed
	Writable bool   // clients may write
	File     string // the data is a file, for people; empty: it is in an etcd
}

// IsForeign reports whether another program owns the data.
func (s State) IsForeign() bool { return s.Owner == Foreign || s.Owner == Kubernetes }

// RefusedError is the error of Adopt or Writable if the data does not permit the option.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Open determines the owner of the data under the prefix. It writes only the marker, if config adopts the data or an earlier release of
// revtail wrote it. The error is a *RefusedError if Adopt or Writable is not possible, or one of the store.
func Open(ctx context.Context, config Config) (*Claim, error) {
	c := &Claim{config: config, owned: make(chan struct{})}
	state, because, err := c.find(ctx)
	if err != nil {
		return nil, err
	}
	if config.File != "" {
		state.File, state.Writable, because = config.File, false, ""
	} else if because, err = c.decide(&state, because); err != nil {
		return nil, err
	}
	if because != "" {
		if err := c.mark(ctx, because); err != nil {
			return nil, fmt.Errorf("claiming %s: %w", config.Prefix, err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setLocked(state)
	c.log(state)
	return c, nil
}

// Look determines the owner of the data under the prefix, and writes nothing. The errors are those of the store.
func Look(ctx context.Context, config Config) (State, error) {
	state, _, err := (&Claim{config: config}).find(ctx)
	return state, err
}

// find determines the owner. A because that is not empty means that the data is revtail's own but has no marker.
func (c *Claim) find(ctx context.Context) (state State, because string, err error) {
	key, err := c.findKubernetes(ctx)
	if err != nil {
		return State{}, "", err
	}
	if key == "" && c.config.Cluster {
		return State{Owner: Kubernetes, Reason: "--cluster says that a kube-apiserver's data is below " + c.config.Prefix + ", although no key there proves it"}, "", nil
	}
	if key != "" {
		return ofKubernetes(key), "", nil
	}
	kv, _, err := c.config.Store.Get(ctx, MarkerKey(c.config.Prefix))
	switch {
	case err == nil:
		if wrong := c.checkMarker(kv); wrong != "" {
			return State{Owner: Foreign, Evidence: kv.Key, Reason: wrong}, "", nil
		}
		return State{Owner: Own, Writable: true}, "", nil
	case !errors.Is(err, etcdstore.ErrNotFound):
		return State{}, "", err
	}
	return c.findUnmarked(ctx)
}

// findUnmarked determines the owner of data without a marker by its content.
func (c *Claim) findUnmarked(ctx context.Context) (State, string, error) {
	found, err := c.scan(ctx)
	if err != nil {
		return State{}, "", err
	}
	shared, err := c.SharesEtcd(ctx)
	switch {
	case err != nil:
		return State{}, "", err
	case found.kubernetes != "":
		return ofKubernetes(found.kubernetes), "", nil
	case shared && c.config.Adopt && (found.keys == 0 || found.own != ""):
		return State{Owner: Unclaimed, Writable: true}, "", nil
	case shared:
		return ofKubernetes(compactRevKey), "", nil
	case found.own != "":
		return State{Owner: Own, Evidence: found.own, Writable: true}, becauseEarlier, nil
	case found.keys > 0:
		reason := fmt.Sprintf("there are unclaimed objects, as %q", found.unknown)
		return State{Owner: Foreign, Evidence: found.unknown, Reason: reason, Writable: c.config.Writable}, "", nil
	}
	return State{Owner: Unclaimed, Writable: true}, "", nil
}

func ofKubernetes(key string) State {
	return State{Owner: Kubernetes, Evidence: key, Reason: fmt.Sprintf("a kube-apiserver has written the key %q", key)}
}

// decide applies the decisions of the operator, and returns the reason for writing a marker; empty: write none.
func (c *Claim) decide(state *State, because string) (string, error) {
	prefix := c.config.Prefix
	switch {
	case state.Owner == Kubernetes && c.config.Adopt:
		return "", &RefusedError{fmt.Sprintf("--adopt: %s: revtail does not take over data of a cluster; name a prefix of its own with --etcd-prefix, as /revtail", state.Reason)}
	case state.Owner == Kubernetes && c.config.Writable:
		return "", &RefusedError{fmt.Sprintf("--writable: %s: revtail does not write to data of a cluster; leave --writable out, or name a prefix of revtail's own with --etcd-prefix, as /revtail, and --adopt", state.Reason)}
	case state.Owner == Foreign && state.Evidence == MarkerKey(prefix) && c.config.Adopt:
		return "", &RefusedError{fmt.Sprintf("--adopt: %s; delete the marker first if it is wrong", state.Reason)}
	case state.Owner == Own, !c.config.Adopt:
		return because, nil
	}
	*state = State{Owner: Own, Evidence: state.Evidence, Writable: true}
	return becauseAdopted, nil
}

// mark writes the marker, unless another gateway has.
func (c *Claim) mark(ctx context.Context, because string) error {
	op, err := c.put(because)
	if err != nil {
		return err
	}
	if because == becauseAdopted {
		c.config.Logger.Warn("adopting the data under the prefix: from now on revtail deletes objects there whose owners are gone, empties namespaces and "+
			"CustomResourceDefinitions that are being deleted, writes their status, and writes keys below revtail/", "prefix", c.config.Prefix, "marker", op.Key)
	}
	_, err = c.config.Store.Transact(ctx, etcdstore.Txn{If: []etcdstore.Condition{c.unmarked()}, Then: []etcdstore.Op{op}})
	if err == nil && because == becauseEmpty {
		c.claimed()
	}
	return err
}

// claimed is called when a client's write has claimed the prefix.
func (c *Claim) claimed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.State().Owner == Unclaimed {
		c.config.Logger.Info("the first write has claimed the prefix", "prefix", c.config.Prefix, "marker", MarkerKey(c.config.Prefix))
		c.setLocked(State{Owner: Own, Writable: true})
	}
}

// setLocked changes the state.
func (c *Claim) setLocked(state State) {
	c.state.Store(&state)
	if state.Owner != Own || state.File != "" {
		return
	}
	c.verified, c.history = time.Now(), c.config.Store.History()
	select {
	case <-c.owned:
	default:
		close(c.owned)
	}
}

func (c *Claim) log(state State) {
	log := c.config.Logger.With("prefix", c.config.Prefix)
	switch {
	case state.File != "":
	case state.Owner == Own && state.Evidence != "":
		log.Info("the data is revtail's own from now on", "marker", MarkerKey(c.config.Prefix), "evidence", state.Evidence)
	case !state.IsForeign():
	case state.Writable:
		log.Warn("the data is not revtail's own: revtail carries out what clients write, and does nothing else", "owner", string(state.Owner), "reason", state.Reason)
	default:
		log.Warn("the data is not revtail's own: revtail reads it, and writes nothing", "owner", string(state.Owner), "reason", state.Reason)
	}
}

// State returns the newest state. With a nil Claim, revtail owns the data.
func (c *Claim) State() State {
	if c == nil {
		return State{Owner: Own, Writable: true}
	}
	return *c.state.Load()
}

// WaitOwned waits until the data is revtail's own, or returns ctx's error. The data may cease to be revtail's own: see Verify.
func (c *Claim) WaitOwned(ctx context.Context) error {
	if c == nil {
		return ctx.Err()
	}
	select {
	case <-c.owned:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// CheckMethod returns a *ReadOnlyError where a request of an HTTP method would write data that can be read only.
func (c *Claim) CheckMethod(method string) error {
	if state := c.State(); method != http.MethodGet && !state.Writable {
		return &ReadOnlyError{Prefix: c.config.Prefix, State: state}
	}
	return nil
}
