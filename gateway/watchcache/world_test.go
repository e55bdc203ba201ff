package watchcache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/watchcache/selector"
)

const root = "/registry/things/"

// world is a cache over a store in memory. Its methods are for use in a synctest bubble.
type world struct {
	t     *testing.T
	store *memory.Store
	cache *Cache
	stop  func()

	lookBack etcdstore.Revision // Config.LookBack; zero: the log begins with the newest revision
}

// newWorld starts a cache; prepare writes the state before it.
func newWorld(t *testing.T, prepare func(*memory.Store)) *world {
	t.Helper()
	w := &world{t: t, store: memory.New()}
	if prepare != nil {
		prepare(w.store)
	}
	w.cache = New(Config{Store: w.store, Prefix: root, Decode: decodeThing, Logger: slog.New(slog.DiscardHandler)})
	w.start()
	return w
}

func (w *world) start() {
	w.cache.lookBack = max(w.lookBack, 1)
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.cache.Run(ctx)
	}()
	w.stop = func() {
		cancel()
		<-ended
	}
	w.t.Cleanup(w.stop)
	synctest.Wait()
}

func decodeThing(kv etcdstore.KV, buffer []byte) (encoding.Object, error) {
	namespace, name, ok := strings.Cut(strings.TrimPrefix(kv.Key, root), "/")
	if !ok {
		return encoding.Object{}, errors.New("not in a namespace")
	}
	id := encoding.Identity{APIVersion: "v1", Kind: "Thing", Namespace: namespace, Name: name}
	return encoding.NormalizeIn(buffer, kv.Value, id, int64(kv.Modified))
}

// thing returns the stored document of an object.
func thing(path, label, value string) []byte {
	namespace, name, _ := strings.Cut(path, "/")
	return fmt.Appendf(nil, `{"kind":"Thing","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"labels":{"l":%q}},"spec":{"value":%q}}`,
		name, namespace, label, value)
}

func (w *world) put(path, label, value string) etcdstore.Revision {
	w.t.Helper()
	return w.write(path, thing(path, label, value))
}

func (w *world) write(path string, value []byte) etcdstore.Revision {
	w.t.Helper()
	revision := w.store.Txn(map[string][]byte{root + path: value}, nil)
	synctest.Wait()
	return revision
}

func (w *world) compact(revision etcdstore.Revision) {
	w.t.Helper()
	if err := w.store.Compact(revision); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(paths ...string) {
	w.t.Helper()
	keys := make([]string, len(paths))
	for i, path := range paths {
		keys[i] = root + path
	}
	w.store.Txn(nil, keys)
	synctest.Wait()
}

func (w *world) watch(q WatchQuery) *Watcher {
	w.t.Helper()
	watcher, err := w.cache.Watch(q)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(watcher.Close)
	return watcher
}

// seen is a change as a client gets it.
type seen struct {
	Type     string
	Path     string
	Label    string
	Revision string // resourceVersion in the document
}

func (s seen) String() string {
	return fmt.Sprintf("%s %s l=%s rv=%s", s.Type, s.Path, s.Label, s.Revision)
}

func see(c Change) seen {
	var doc struct {
		Metadata struct {
			Name, Namespace, ResourceVersion string
			Labels                           map[string]string
		}
	}
	if err := json.Unmarshal(c.Object.JSON, &doc); err != nil {
		return seen{Type: "BROKEN " + err.Error()}
	}
	return seen{string(c.Type), doc.Metadata.Namespace + "/" + doc.Metadata.Name, doc.Metadata.Labels["l"], doc.Metadata.ResourceVersion}
}

// drain reads all events of a watcher, and returns the last Through.
func (w *world) drain(watcher *Watcher) (changes []seen, through etcdstore.Revision, err error) {
	w.t.Helper()
	last := etcdstore.Revision(0)
	for {
		ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
		batch, failed := watcher.Next(ctx)
		cancel()
		if errors.Is(failed, context.DeadlineExceeded) {
			break
		}
		if failed != nil {
			return changes, last, failed
		}
		for _, c := range batch.Changes {
			changes = append(changes, see(c))
		}
		if batch.Through > 0 && batch.Through < last {
			w.t.Errorf("a batch is complete up to %d, the previous one up to %d", batch.Through, last)
		}
		last = batch.Through
	}
	batch, err := watcher.Poll()
	if len(batch.Changes) > 0 {
		w.t.Errorf("Poll finds %d changes that Next did not wait for", len(batch.Changes))
	}
	return changes, batch.Through, err
}

func (w *world) expect(watcher *Watcher, want ...string) {
	w.t.Helper()
	changes, _, err := w.drain(watcher)
	if err != nil {
		w.t.Fatal(err)
	}
	got := []string{}
	for _, c := range changes {
		got = append(got, c.String())
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		w.t.Errorf("the watcher got other events (- want, + got):\n%s", diff)
	}
}

func parse(t *testing.T, label, field string) *selector.Selector {
	t.Helper()
	s, err := selector.Parse(label, field)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
