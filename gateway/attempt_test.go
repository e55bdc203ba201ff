package gateway

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

// recordingStore counts the requests for one key. Each call of a Store is one request to etcd.
type recordingStore struct {
	etcdstore.Store
	key string

	mu       sync.Mutex
	requests []string

	failing error // result of every update that was done; nil: its own result

	held chan struct{} // watches deliver nothing before it is closed; nil: no limit
}

func (s *recordingStore) record(request, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(key, s.key) {
		s.requests = append(s.requests, request)
	}
}

// recorded returns the requests since the last call.
func (s *recordingStore) recorded() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return strings.Join(requests, " ")
}

func (s *recordingStore) Get(ctx context.Context, key string) (etcdstore.KV, etcdstore.Revision, error) {
	s.record("get", key)
	return s.Store.Get(ctx, key)
}

func (s *recordingStore) Create(ctx context.Context, key string, value []byte) (etcdstore.Revision, error) {
	s.record("create", key)
	return s.Store.Create(ctx, key, value)
}

func (s *recordingStore) CreateGuarded(ctx context.Context, key string, value []byte, guard etcdstore.Guard) (etcdstore.Revision, error) {
	s.record("create", key)
	return s.Store.CreateGuarded(ctx, key, value, guard)
}

func (s *recordingStore) Update(ctx context.Context, key string, value []byte, want etcdstore.Revision) (etcdstore.Revision, error) {
	s.record("update", key)
	revision, err := s.Store.Update(ctx, key, value, want)
	if s.mu.Lock(); s.failing != nil {
		revision, err = 0, s.failing
	}
	s.mu.Unlock()
	return revision, err
}

func (s *recordingStore) Delete(ctx context.Context, key string, want etcdstore.Revision) (etcdstore.Revision, error) {
	s.record("delete", key)
	return s.Store.Delete(ctx, key, want)
}

func (s *recordingStore) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	s.record("list", prefix)
	return s.Store.List(ctx, prefix, o)
}

func (s *recordingStore) Revision(ctx context.Context) (etcdstore.Revision, error) {
	s.record("revision", s.key)
	return s.Store.Revision(ctx)
}

func (s *recordingStore) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	return &heldWatcher{s.Store.Watch(ctx, prefix, o), s}
}

type heldWatcher struct {
	etcdstore.Watcher
	store *recordingStore
}

func (w *heldWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	batch, err := w.Watcher.Next(ctx)
	w.store.mu.Lock()
	held := w.store.held
	w.store.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
		}
	}
	return batch, err
}

// hold keeps the events of the store from the caches until the test ends.
func (s *recordingStore) hold(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	held := make(chan struct{})
	s.held = held
	t.Cleanup(func() { close(held) })
}

// newRecordedServer counts the requests for keys with a prefix.
func newRecordedServer(t *testing.T, key string) (*testServer, *recordingStore) {
	t.Helper()
	store := memory.New()
	recording := &recordingStore{Store: store, key: key}
	return serveThrough(t, store, recording), recording
}

func revisionOf(object map[string]any) string {
	return object["metadata"].(map[string]any)["resourceVersion"].(string)
}

// catchUp waits until the cache has the newest state.
func (s *testServer) catchUp(collection string) {
	s.t.Helper()
	revision, err := s.store.Revision(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if a := s.get(collection + "?resourceVersion=" + strconv.FormatInt(int64(revision), 10)); a.code != http.StatusOK {
		s.t.Fatalf("%d %s", a.code, a.body)
	}
}

// TestRequestsOfWrites checks the table of DESIGN.md: which requests to etcd each kind of write makes.
func TestRequestsOfWrites(t *testing.T) {
	s, store := newRecordedServer(t, "/registry/configmaps/")
	const a = configMaps + "/a"
	revision := ""
	s.must(http.StatusCreated, "POST", configMaps, configMap("first", "", "")) // with the Namespaces that are missing
	for _, step := range []struct {
		name, method, path, contentType, body string
		code                                  int
		want                                  string
	}{
		{"create", "POST", configMaps, jsonBody, configMap("a", "", `"data":{"k":"1"}`), 201, "create"},
		{"create with a generated name", "POST", configMaps, jsonBody, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"generateName":"g-"}}`, 201, "create"},
		{"refused create", "POST", configMaps, jsonBody, configMap("A", "", ""), 422, ""},
		{"create of an existing object", "POST", configMaps, jsonBody, configMap("a", "", ""), 409, "create get"},
		{"create, dry run", "POST", configMaps + "?dryRun=All", jsonBody, configMap("b", "", ""), 201, "get"},
		{"update", "PUT", a, jsonBody, configMap("a", `"resourceVersion":"$RV"`, `"data":{"k":"2"}`), 200, "update"},
		{"update without resourceVersion", "PUT", a, jsonBody, configMap("a", "", `"data":{"k":"3"}`), 200, "update"},
		{"stale update", "PUT", a, jsonBody, configMap("a", `"resourceVersion":"2"`, `"data":{"k":"4"}`), 409, "get"},
		{"refused update", "PUT", a, jsonBody, configMap("a", `"labels":{"l":"/"}`, ""), 422, "get"},
		{"update without a change", "PUT", a, jsonBody, configMap("a", "", `"data":{"k":"3"}`), 200, "get"},
		{"update, dry run", "PUT", a + "?dryRun=All", jsonBody, configMap("a", "", `"data":{"k":"5"}`), 200, "get"},
		{"merge patch", "PATCH", a, mergeType, `{"data":{"k":"6"}}`, 200, "update"},
		{"JSON patch", "PATCH", a, jsonPatchType, `[{"op":"replace","path":"/data/k","value":"7"}]`, 200, "update"},
		{"strategic patch", "PATCH", a, strategicType, `{"data":{"k":"8"}}`, 200, "update"},
		{"apply", "PATCH", a + "?fieldManager=m", applyType, configMap("a", "", `"data":{"l":"9"}`), 200, "update"},
		{"apply of an absent object", "PATCH", configMaps + "/n?fieldManager=m", applyType, configMap("n", "", `"data":{"l":"9"}`), 201, "get create"},
		{"patch of an absent object", "PATCH", configMaps + "/x", mergeType, `{}`, 404, "get"},
		{"finalizer", "PATCH", a, mergeType, `{"metadata":{"finalizers":["a.b/c"]}}`, 200, "update"},
		{"delete with a finalizer", "DELETE", a, jsonBody, ``, 200, "update"},
		{"delete again", "DELETE", a, jsonBody, ``, 200, "get"},
		{"removal of the last finalizer", "PATCH", a, mergeType, `{"metadata":{"finalizers":null}}`, 200, "delete"},
		{"delete", "DELETE", configMaps + "/n", jsonBody, ``, 200, "delete"},
		{"delete of an absent object", "DELETE", configMaps + "/n", jsonBody, ``, 404, "get"},
	} {
		s.catchUp(configMaps)
		if standing := s.get(a); standing.code == http.StatusOK {
			revision = revisionOf(standing.json(t))
		}
		body := strings.Replace(step.body, "$RV", revision, 1)
		store.recorded()
		reply := s.do(step.method, step.path, body, "Content-Type", step.contentType)
		if got := store.recorded(); reply.code != step.code || got != step.want {
			t.Errorf("%s: %d, by %q; want %d, by %q: %s", step.name, reply.code, got, step.code, step.want, reply.body)
		}
	}
}

// TestRequestsOfCustomResources checks that a create verifies the definition in the same transaction.
func TestRequestsOfCustomResources(t *testing.T) {
	s, store := newRecordedServer(t, "/registry/example.com/")
	s.define(widgetsDefinition)
	s.catchUp(crds) // its status was written last
	store.recorded()
	s.must(http.StatusCreated, "POST", widgets, `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w"}}`)
	if got := store.recorded(); got != "create" {
		t.Errorf("create: %q", got)
	}
	s.catchUp(widgets)
	store.recorded()
	s.must(http.StatusOK, "PATCH", widgets+"/w/status", `{"status":{"phase":"x"}}`, "Content-Type", mergeType)
	if got := store.recorded(); got != "update" {
		t.Errorf("patch of the status: %q", got)
	}
}

// TestWritesOnAnOldCache checks that a write on an old cache needs one request more, and has the same result.
func TestWritesOnAnOldCache(t *testing.T) {
	s, store := newRecordedServer(t, "/registry/configmaps/")
	const a = configMaps + "/a"
	cached := s.must(http.StatusCreated, "POST", configMaps, configMap("a", "", `"data":{"k":"1"}`))
	for _, name := range []string{"f", "gone"} {
		s.must(http.StatusCreated, "POST", configMaps, configMap(name, "", `"data":{"k":"1"}`))
	}
	s.catchUp(configMaps)
	store.hold(t)
	// The cache keeps its state; later changes are in etcd only.
	first := s.must(http.StatusOK, "PUT", a, configMap("a", "", `"data":{"k":"2"}`))
	s.must(http.StatusOK, "PATCH", configMaps+"/f", `{"metadata":{"finalizers":["a.b/c"]}}`, "Content-Type", mergeType)
	s.must(http.StatusOK, "DELETE", configMaps+"/gone", "")
	s.must(http.StatusCreated, "POST", configMaps, configMap("new", "", ""))
	for _, step := range []struct {
		name, method, path, contentType, body string
		code                                  int
		want                                  string
		key, value                            string // of the data in the response
	}{
		{"back to the cached state", "PUT", a, jsonBody, configMap("a", "", `"data":{"k":"1"}`), 200, "get update", "k", "1"},
		{"patch beside the last write", "PATCH", a, mergeType, `{"data":{"l":"3"}}`, 200, "update update", "k", "1"},
		{"update of a stale state", "PUT", a, jsonBody, configMap("a", `"resourceVersion":"`+revisionOf(first)+`"`, ""), 409, "get", "", ""},
		{"update of the cached state", "PUT", a, jsonBody, configMap("a", `"resourceVersion":"`+revisionOf(cached)+`"`, `"data":{"k":"9"}`), 409, "update", "", ""},
		{"update of a deleted object", "PUT", configMaps + "/gone", jsonBody, configMap("gone", "", `"data":{"k":"9"}`), 404, "update get", "", ""},
		{"delete of a deleted object", "DELETE", configMaps + "/gone", jsonBody, "", 404, "delete get", "", ""},
		{"patch of a new object", "PATCH", configMaps + "/new", mergeType, `{"data":{"k":"1"}}`, 200, "get update", "k", "1"},
		{"delete of an object with a finalizer", "DELETE", configMaps + "/f", jsonBody, "", 200, "delete update", "k", "1"},
		{"delete of a changed object", "DELETE", a, jsonBody, "", 200, "delete delete", "", ""},
	} {
		store.recorded()
		reply := s.do(step.method, step.path, step.body, "Content-Type", step.contentType)
		if got := store.recorded(); reply.code != step.code || got != step.want {
			t.Errorf("%s: %d, by %q; want %d, by %q: %s", step.name, reply.code, got, step.code, step.want, reply.body)
		}
		if step.key == "" {
			continue
		}
		if data, _ := reply.json(t)["data"].(map[string]any); data[step.key] != step.value {
			t.Errorf("%s: %v", step.name, reply.body)
		}
	}
}

// TestUnknownOutcomeIsNotTriedAgain checks that a write with an unknown outcome is not repeated, also when it began with a cached object.
func TestUnknownOutcomeIsNotTriedAgain(t *testing.T) {
	s, store := newRecordedServer(t, "/registry/configmaps/")
	s.must(http.StatusCreated, "POST", configMaps, configMap("a", "", `"data":{"k":"1"}`))
	s.catchUp(configMaps)
	store.recorded()
	store.mu.Lock()
	store.failing = etcdstore.ErrUnknownOutcome
	store.mu.Unlock()
	refused := s.must(http.StatusGatewayTimeout, "PATCH", configMaps+"/a", `{"data":{"k":"2"}}`, "Content-Type", mergeType)
	if got := store.recorded(); got != "update" || refused["reason"] != "OutcomeUnknown" {
		t.Errorf("by %q: %v", got, refused)
	}
}
