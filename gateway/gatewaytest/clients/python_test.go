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

// python is Debian's Python, which finds Debian's packages.
const python = "/usr/bin/python3"

// pythonCommand returns a command of Python with the official client; without the client the test is skipped.
func pythonCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if output, err := exec.CommandContext(t.Context(), python, "-c", "import kubernetes").CombinedOutput(); err != nil {
		t.Skipf("%s cannot import kubernetes, which is in Debian's python3-kubernetes: %v\n%s", python, err, output)
	}
	return exec.CommandContext(t.Context(), python, args...)
}

// pythonWalk is the expected output of testdata/walk.py.
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

// TestPython checks each verb, built-in kinds and custom resources, and errors with the official client for Python, which has no protobuf
// and validates responses.
func TestPython(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	s := startFollower(t, pythonCommand(t, "testdata/walk.py", gw.URL))
	for want := range strings.Lines(pythonWalk) {
		want = strings.TrimSuffix(want, "\n")
		if diff := cmp.Diff(want, s.next(t)); diff != "" {
			t.Fatalf("output (-want +got):\n%s", diff)
		}
		if want == "COMPACT" {
			compact(t, gw)
			if _, err := io.WriteString(s.stdin, "\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// compact makes the embedded etcd compact its history, and returns when the gateway knows of it.
func compact(t *testing.T, gw *gatewaytest.Gateway) {
	t.Helper()
	keys := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	keys.Compact(t, keys.Revision(t))
	gatewaytest.Until(t, "a gateway that knows of the compaction", func() bool {
		return gw.Do(t, http.MethodGet, "/api/v1/configmaps?resourceVersion=2&resourceVersionMatch=Exact", "").Code == http.StatusGone
	})
}

// TestPythonWatch checks that the stream of the official client misses and repeats nothing when the gateway ends, and that it lists again
// after a compaction.
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
	h.take() // the events before the compaction
	for i := range 5 {
		h.put(t, fmt.Sprint("m", i), "LISTED")
	}
	h.keys.Compact(t, h.keys.Revision(t))
	gw.Restart(t)
	s.expect(t, plainEvent, h.take()...)
	h.change(t)
	s.expect(t, plainEvent, h.take()...)
}

// history writes to etcd, and records the events that a client must get.
type history struct {
	keys  *gatewaytest.Keys
	there map[string]bool
	value int
	want  []string
}

// put writes a ConfigMap. A client gets it as the given event, or as its real one if that is empty.
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

// take returns the expected events since the last call.
func (h *history) take() []string {
	want := h.want
	h.want = nil
	return want
}

func keyOf(name string) string { return "/registry/configmaps/default/" + name }
