package clients

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

// python is Debian's, which has Debian's packages.
const python = "/usr/bin/python3"

// pythonCommand is Python with the official client; without that the test is skipped.
func pythonCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if output, err := exec.CommandContext(t.Context(), python, "-c", "import kubernetes").CombinedOutput(); err != nil {
		t.Skipf("%s cannot import kubernetes, which is in Debian's python3-kubernetes: %v\n%s", python, err, output)
	}
	return exec.CommandContext(t.Context(), python, args...)
}

// pythonWalk is what testdata/walk.py must print.
const pythonWalk = `empty []
created ConfigMap m4 {'value': '1'} True
merged {'value': '2'}
patched {'value': '3'}
replaced {'value': '4'}
409 Conflict Conflict 409 application/json
409 Conflict AlreadyExists 409 application/json
404 Not Found NotFound 404 application/json
deleted Success m1
404 Not Found NotFound 404 application/json
page ['m0', 'm2', 'm3'] 1
page ['m4'] None 
same revision True
COMPACT
410 Gone Expired 410 application/json
410 Gone Expired 410 application/json
scaled 3
available 3
container nginx B 3
deleted Success
422 Unprocessable Entity Invalid 422 application/json
MODIFIED Shirt {'size': 2}
DELETED Shirt {'size': 2}
`

// TestPython: what the official client for Python, which knows no protobuf and checks what it is told, makes of each verb,
// built-in kinds and custom resources, and errors.
func TestPython(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	s := startFollower(t, pythonCommand(t, "testdata/walk.py", gw.URL))
	for want := range strings.Lines(pythonWalk) {
		want = strings.TrimSuffix(want, "\n")
		if diff := cmp.Diff(want, s.next(t)); diff != "" {
			t.Fatalf("what it says (-want +got):\n%s", diff)
		}
		if want == "COMPACT" {
			compact(t, gw)
			if _, err := io.WriteString(s.stdin, "\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// compact makes the embedded etcd forget what was, and returns when the gateway has heard of it.
func compact(t *testing.T, gw *gatewaytest.Gateway) {
	t.Helper()
	keys := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	keys.Compact(t, keys.Revision(t))
	gatewaytest.Until(t, "a gateway that knows of the compaction", func() bool {
		return gw.Do(t, http.MethodGet, "/api/v1/configmaps?resourceVersion=2&resourceVersionMatch=Exact", "").Code == http.StatusGone
	})
}

// TestPythonWatch: the stream of the official client misses nothing and repeats nothing, however the gateway ends; when what
// it missed is compacted, a new list has it.
func TestPythonWatch(t *testing.T) {
	t.Parallel()
	etcd := gatewaytest.StartEtcd(t, 1)
	gw := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoints())
	h := &history{keys: gatewaytest.DialEtcd(t, etcd.Endpoints()), there: make(map[string]bool)}
	for i := range 5 {
		h.put(t, fmt.Sprint("m", i), "LISTED")
	}
	s := startFollower(t, pythonCommand(t, "testdata/follow.py", gw.URL))
	s.expect(t, plainEvent, h.take()...)

	h.change(t)
	gw.Terminate(t)
	h.change(t)
	gw.Exit(t)
	h.change(t)
	gw.Restart(t)
	h.change(t)
	s.expect(t, plainEvent, h.take()...)
	gw.Kill(t)
	h.change(t)
	gw.Restart(t)
	s.expect(t, plainEvent, h.take()...)

	gw.Kill(t)
	h.change(t)
	h.take() // what nobody can know any more
	for i := range 5 {
		h.put(t, fmt.Sprint("m", i), "LISTED")
	}
	h.keys.Compact(t, h.keys.Revision(t))
	gw.Restart(t)
	s.expect(t, plainEvent, h.take()...)
	h.change(t)
	s.expect(t, plainEvent, h.take()...)
}

// history writes to etcd, and remembers what a client must see of it.
type history struct {
	keys  *gatewaytest.Keys
	there map[string]bool
	value int
	want  []string
}

// put writes a ConfigMap that a client will see as what it is told, or as what it is when that is empty.
func (h *history) put(t *testing.T, name, what string) {
	t.Helper()
	switch {
	case what != "":
	case h.there[name]:
		what = "MODIFIED"
	default:
		what = "ADDED"
	}
	h.there[name] = true
	h.value++
	revision := h.keys.Put(t, keyOf(name), gatewaytest.ConfigMap(name, fmt.Sprint(h.value)))
	h.want = append(h.want, fmt.Sprintf("%s %s %d %d", what, name, h.value, revision))
}

// change makes every kind of change, many times.
func (h *history) change(t *testing.T) {
	t.Helper()
	for range 10 {
		h.put(t, "m0", "")
		h.put(t, "x", "")
		revision := h.keys.Delete(t, keyOf("x"))
		h.there["x"] = false
		h.want = append(h.want, fmt.Sprintf("DELETED x %d %d", h.value, revision))
	}
}

// take returns what was to be seen since it was last asked.
func (h *history) take() []string {
	want := h.want
	h.want = nil
	return want
}

func keyOf(name string) string { return "/registry/configmaps/default/" + name }
