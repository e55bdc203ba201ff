package gatewaytest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

// keyFrame is a frame of a watch in the plain dialect.
type keyFrame struct {
	Type     string
	Revision int64
	Last     bool
	Key      string
	Value    json.RawMessage
}

// keyStream is such a watch.
type keyStream struct {
	t       *testing.T
	scanner *bufio.Scanner
	body    interface{ Close() error }
}

func watchKeys(t *testing.T, gw *gatewaytest.Gateway, path string) *keyStream {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, gw.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, response.Status)
	}
	return &keyStream{t, bufio.NewScanner(response.Body), response.Body}
}

// next waits for the next frame that is not a heartbeat.
func (s *keyStream) next() (frame keyFrame) {
	s.t.Helper()
	stop := time.AfterFunc(gatewaytest.Patience, func() { _ = s.body.Close() })
	defer stop.Stop()
	for s.scanner.Scan() {
		frame = keyFrame{}
		if err := json.Unmarshal(s.scanner.Bytes(), &frame); err != nil {
			s.t.Fatalf("%q: %v", s.scanner.Text(), err)
		}
		if frame.Type != "PROGRESS" {
			return frame
		}
	}
	s.t.Fatalf("the stream has ended: %v", s.scanner.Err())
	return frame
}

// TestKeysOfOthers follows keys that another program writes, through a kill of the gateway and the end of a lease.
func TestKeysOfOthers(t *testing.T) {
	t.Parallel()
	cluster := gatewaytest.StartEtcd(t, 1)
	etcd := gatewaytest.DialEtcd(t, cluster.Endpoints())
	gw := gatewaytest.Start(t, "--etcd-endpoints", cluster.Endpoints(), "--keys-writable", "/app/")
	first := etcd.Put(t, "/app/a", "1", "/application", "2")
	stream := watchKeys(t, gw, "/v1/keys/app/?watch")
	for _, want := range []keyFrame{{Type: "PUT", Revision: first, Key: "/app/a", Value: []byte("1")}, {Type: "SYNC", Revision: first}} {
		got := stream.next()
		if want.Type == "SYNC" {
			got.Revision = min(got.Revision, first) // the gateway itself may have written meanwhile
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	both := etcd.Put(t, "/app/b", `"x"`, "/app/c", "3")
	want := []keyFrame{{Type: "PUT", Revision: both, Key: "/app/b", Value: []byte(`"x"`)}, {Type: "PUT", Revision: both, Last: true, Key: "/app/c", Value: []byte("3")}}
	if diff := cmp.Diff(want, []keyFrame{stream.next(), stream.next()}); diff != "" {
		t.Error(diff)
	}

	gw.Kill(t)
	missed := etcd.Delete(t, "/app/a")
	gw.Restart(t)
	stream = watchKeys(t, gw, fmt.Sprintf("/v1/keys/app/?watch&since=%d", both))
	want = append(want, keyFrame{Type: "DELETE", Revision: missed, Last: true, Key: "/app/a"}) // a revision of several keys comes again
	if diff := cmp.Diff(want, []keyFrame{stream.next(), stream.next(), stream.next()}); diff != "" {
		t.Error(diff)
	}

	if answer := gw.Do(t, http.MethodPut, "/v1/keys/app/leased?ttl=2s", "1"); answer.Code != http.StatusOK {
		t.Fatalf("PUT: %d %s", answer.Code, answer.Body)
	}
	if frame := stream.next(); frame.Type != "PUT" || frame.Key != "/app/leased" {
		t.Errorf("after a PUT with a ttl: %+v", frame)
	}
	if frame := stream.next(); frame.Type != "DELETE" || frame.Key != "/app/leased" || !frame.Last {
		t.Errorf("when the lease has ended: %+v", frame)
	}
	if answer := gw.Do(t, http.MethodGet, "/v1/keys/application", ""); answer.Code != http.StatusForbidden || strings.Contains(answer.Body, "value") {
		t.Errorf("a key that is not open: %d %s", answer.Code, answer.Body)
	}
	now := etcd.Put(t, "/app/d", "4")
	etcd.Compact(t, now)
	if answer := gw.Do(t, http.MethodGet, fmt.Sprintf("/v1/keys/app/d?at=%d", first), ""); answer.Code != http.StatusGone {
		t.Errorf("a compacted revision: %d %s", answer.Code, answer.Body)
	}
}

var number = regexp.MustCompile(`"lease":"[0-9a-f]+"|("(?:[rR]evision|createRevision|modRevision)": ?)\d+`)

// TestKeysInTheREADME runs the commands of the README, and gets what it shows but for the revisions.
func TestKeysInTheREADME(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Any key\n")
	_, session, _ := strings.Cut(section, "```console\n")
	session, _, _ = strings.Cut(session, "```\n")
	gw := gatewaytest.Start(t, "--keys-writable", "/app/")
	steps := strings.Split("\n"+session, "\n$ ")[1:]
	for _, step := range steps {
		command, want, _ := strings.Cut(step, "\n")
		run := exec.CommandContext(t.Context(), "bash", "-c", strings.ReplaceAll(command, "localhost:8080", strings.TrimPrefix(gw.URL, "http://")))
		got, err := run.Output()
		if err != nil && run.ProcessState.ExitCode() != 28 { // its time was over
			t.Errorf("%s: %v", command, err)
		}
		if diff := cmp.Diff(number.ReplaceAllString(strings.TrimSpace(want), "${1}N"), number.ReplaceAllString(strings.TrimSpace(string(got)), "${1}N")); diff != "" {
			t.Errorf("%s (-README +got)\n%s", command, diff)
		}
	}
	if len(steps) < 6 {
		t.Errorf("the README has %d commands", len(steps))
	}
}
