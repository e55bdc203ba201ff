package garbage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// things are the objects of one resource in a store. Cached reads the store itself, unless forgetful is set.
type things struct {
	store      etcdstore.Store
	prefix     string
	namespaced bool
	forgetful  *atomic.Bool                  // Cached finds nothing
	deletes    *atomic.Int64                 // counts the calls of Delete
	before     func(key string) (stop error) // called by Delete, if not nil
}

func (t *things) Key(namespace, name string) string {
	if t.namespaced {
		return t.prefix + namespace + "/" + name
	}
	return t.prefix + name
}

func (t *things) object(kv etcdstore.KV) *Object {
	o := &Object{Name: kv.Key[len(t.prefix):], Created: kv.Created, Revision: kv.Modified}
	if t.namespaced {
		o.Namespace, o.Name, _ = strings.Cut(o.Name, "/")
	}
	if json.Valid(kv.Value) {
		o.JSON = kv.Value
	}
	return o
}

func (t *things) Cached(ctx context.Context, namespace, name string) (*Object, error) {
	if t.forgetful.Load() {
		return nil, nil
	}
	return t.Read(ctx, namespace, name)
}

func (t *things) Read(ctx context.Context, namespace, name string) (*Object, error) {
	kv, _, err := t.store.Get(ctx, t.Key(namespace, name))
	if errors.Is(err, etcdstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return t.object(kv), nil
}

func (t *things) List(ctx context.Context, namespace, after string, limit int) (Page, error) {
	o := etcdstore.ListOptions{Limit: limit}
	if after != "" {
		o.After = t.Key(namespace, after)
	}
	list, err := t.store.List(ctx, t.Key(namespace, ""), o)
	var page Page
	for _, kv := range list.KVs {
		page.Objects = append(page.Objects, t.object(kv))
	}
	if list.Remaining > 0 {
		page.Next = page.Objects[len(page.Objects)-1].Name
	}
	return page, err
}

func (t *things) All(ctx context.Context, namespace string, _ etcdstore.Revision) (iter.Seq[*Object], error) {
	prefix := t.prefix
	if namespace != "" {
		prefix = t.Key(namespace, "")
	}
	list, err := t.store.List(ctx, prefix, etcdstore.ListOptions{})
	return func(yield func(*Object) bool) {
		for _, kv := range list.KVs {
			if !yield(t.object(kv)) {
				return
			}
		}
	}, err
}

func (t *things) Edit(ctx context.Context, namespace, name string, change func(map[string]any) bool) error {
	o, err := t.Read(ctx, namespace, name)
	if err != nil || o == nil {
		return err
	}
	var document map[string]any
	if err := json.Unmarshal(o.JSON, &document); err != nil {
		return err
	}
	metadata := document["metadata"].(map[string]any)
	if !change(metadata) {
		return nil
	}
	if metadata["deletionTimestamp"] != nil && metadata["finalizers"] == nil {
		_, err = t.store.Delete(ctx, t.Key(namespace, name), o.Revision)
		return ignoreLost(err)
	}
	value, err := json.Marshal(document)
	if err == nil {
		_, err = t.store.Update(ctx, t.Key(o.Namespace, o.Name), value, o.Revision)
	}
	return ignoreLost(err)
}

// Elsewhere looks for the keys of the kind in the layout of another program.
func (t *things) Elsewhere(ctx context.Context, namespace, name string) (bool, error) {
	_, _, err := t.store.Get(ctx, "/elsewhere"+t.Key(namespace, name))
	if errors.Is(err, etcdstore.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (t *things) Count() int {
	list, err := t.store.List(context.Background(), t.prefix, etcdstore.ListOptions{KeysOnly: true})
	if err != nil {
		panic(err)
	}
	return len(list.KVs)
}

func (t *things) Delete(ctx context.Context, o *Object, policy metav1.DeletionPropagation, _ string) (bool, error) {
	if policy == "" {
		panic("a deletion without a policy, which leaves it to the default of the kind")
	}
	t.deletes.Add(1)
	if t.before != nil {
		if err := t.before(t.Key(o.Namespace, o.Name)); err != nil {
			return false, err
		}
	}
	var err error
	if f, ok := o.metadata(); ok && policy == metav1.DeletePropagationForeground {
		marked := strings.Replace(string(o.JSON), `"metadata":{`,
			`"metadata":{"deletionTimestamp":"2026-11-21T00:00:00Z","finalizers":["foregroundDeletion"],`, 1)
		_, err = t.store.Update(ctx, t.Key(o.Namespace, o.Name), []byte(marked), o.Revision)
		return false, ignoreLost(err)
	} else if ok && len(f.Finalizers) > 0 {
		if f.DeletionTimestamp == "" {
			marked := strings.Replace(string(o.JSON), `"metadata":{`, `"metadata":{"deletionTimestamp":"2026-11-21T00:00:00Z",`, 1)
			_, err = t.store.Update(ctx, t.Key(o.Namespace, o.Name), []byte(marked), o.Revision)
		}
		return false, ignoreLost(err)
	}
	_, err = t.store.Delete(ctx, t.Key(o.Namespace, o.Name), o.Revision)
	return err == nil, ignoreLost(err)
}

// ignoreLost returns nil for a lost race, as the gateway does.
func ignoreLost(err error) error {
	if errors.Is(err, etcdstore.ErrConflict) || errors.Is(err, etcdstore.ErrNotFound) {
		return nil
	}
	return err
}

func (t *things) Watch(ctx context.Context, each func([]Change, bool)) error {
	list, err := t.store.List(ctx, t.prefix, etcdstore.ListOptions{})
	if err != nil {
		return err
	}
	var changes []Change
	for _, kv := range list.KVs {
		changes = append(changes, Change{Object: t.object(kv)})
	}
	each(changes, true)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := t.store.Watch(ctx, t.prefix, etcdstore.WatchOptions{After: list.Revision, Previous: true})
	defer func() { _ = w.Close() }()
	for {
		batch, err := w.Next(ctx)
		if err != nil {
			return err
		}
		changes = nil
		for _, e := range batch.Events {
			if e.KV != nil {
				changes = append(changes, Change{Object: t.object(*e.KV)})
			} else {
				changes = append(changes, Change{Object: t.object(*e.Prev), Gone: true})
			}
		}
		each(changes, false)
	}
}

// world is a store with four kinds of objects, for use in a synctest bubble: Namespace and Global (cluster-wide), Parent and
// Child (in namespaces).
type world struct {
	t         *testing.T
	store     *memory.Store
	forgetful atomic.Bool
	deletes   atomic.Int64
	limit     int                         // Config.Limit of the collectors
	permit    func(context.Context) error // of the collectors; nil: always permitted

	mu     sync.Mutex // guards the field below
	before func(key string) error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{t: t, store: memory.New(), limit: 1_000_000}
}

// resources returns the resources of a replica that reaches the store by s.
func (w *world) resources(s etcdstore.Store) []*Resource {
	var out []*Resource
	for _, kind := range []string{"Namespace", "Global", "Parent", "Child"} {
		namespaced := kind == "Parent" || kind == "Child"
		out = append(out, &Resource{Name: strings.ToLower(kind) + "s", APIVersion: "v1", Kind: kind, Namespaced: namespaced,
			Objects: &things{store: s, prefix: "/r/" + kind + "/", namespaced: namespaced, forgetful: &w.forgetful, deletes: &w.deletes,
				before: w.hook}})
	}
	return out
}

func (w *world) hook(key string) error {
	w.mu.Lock()
	before := w.before
	w.mu.Unlock()
	if before == nil {
		return nil
	}
	return before(key)
}

func (w *world) setHook(before func(key string) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = before
}

// start runs a replica until stop is called. Then it has ended gracefully and released its key.
func (w *world) start() (stop func()) { return w.startOn(w.store) }

func (w *world) startOn(s etcdstore.Store) (stop func()) {
	w.t.Helper()
	resources := w.resources(s)
	c := w.collector(resources)
	c.Serve(resources)
	return w.run(c)
}

func (w *world) collector(resources []*Resource) *Collector {
	store := resources[0].Objects.(*things).store
	permit := w.permit
	if permit == nil {
		permit = func(context.Context) error { return nil }
	}
	return New(Config{Store: store, Permit: permit, Removed: func(string) {}, Key: "revtail/leader/r", Namespaces: resources[0], Owners: true,
		Requests: NewRequests(store, "revtail/deleted/r/"), Limit: w.limit, Logger: slog.New(slog.DiscardHandler)})
}

func (w *world) run(c *Collector) (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	w.t.Cleanup(stop)
	return stop
}

// put writes an object: path is Kind/namespace/name or Kind/name; the uid is the last part of the path unless given after a
// colon, and owners are paths of the same form, with an exclamation mark if the dependent blocks their deletion.
func (w *world) put(path string, owners ...string) {
	w.t.Helper()
	w.write(path, "", owners...)
}

// write is put with more members of metadata.
func (w *world) write(path, more string, owners ...string) {
	w.t.Helper()
	_, name, uid := split(path)
	var references []string
	for _, owner := range owners {
		referred, blocks := strings.CutSuffix(owner, "!")
		kind, ownerName, ownerUID := split(referred)
		references = append(references, fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"name":%q,"uid":%q,"blockOwnerDeletion":%v}`,
			kind, ownerName, ownerUID, blocks))
	}
	value := fmt.Sprintf(`{"metadata":{"name":%q,"uid":%q%s`, name, uid, more)
	if len(references) > 0 {
		value += `,"ownerReferences":[` + strings.Join(references, ",") + "]"
	}
	path, _, _ = strings.Cut(path, ":")
	w.store.Txn(map[string][]byte{"/r/" + path: []byte(value + "}}")}, nil)
}

func split(path string) (kind, name, uid string) {
	path, uid, found := strings.Cut(path, ":")
	parts := strings.Split(path, "/")
	name = parts[len(parts)-1]
	if !found {
		uid = name
	}
	return parts[0], name, uid
}

func (w *world) remove(paths ...string) {
	w.t.Helper()
	for i := range paths {
		paths[i] = "/r/" + paths[i]
	}
	w.store.Txn(nil, paths)
}

// terminate marks a namespace as terminating.
func (w *world) terminate(name, more string) {
	w.t.Helper()
	w.write("Namespace/"+name, `,"deletionTimestamp":"2026-11-21T00:00:00Z"`+more)
}

// left returns the paths of all objects.
func (w *world) left() []string {
	w.t.Helper()
	page, err := w.store.List(w.t.Context(), "/r/", etcdstore.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	out := []string{}
	for _, kv := range page.KVs {
		out = append(out, strings.TrimPrefix(kv.Key, "/r/"))
	}
	return out
}

// after lets time pass in the bubble.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (w *world) expect(want ...string) {
	w.t.Helper()
	slices.Sort(want)
	if got := w.left(); !slices.Equal(got, want) {
		w.t.Errorf("left are %q, want %q", got, want)
	}
}

// leader returns the holder of a leader's key, or an empty string.
func (w *world) leader(duty string) string {
	w.t.Helper()
	kv, _, err := w.store.Get(w.t.Context(), "revtail/leader/r/"+duty)
	if errors.Is(err, etcdstore.ErrNotFound) {
		return ""
	}
	if err != nil {
		w.t.Fatal(err)
	}
	var r record
	if err := json.Unmarshal(kv.Value, &r); err != nil {
		w.t.Fatal(err)
	}
	return r.Holder
}
