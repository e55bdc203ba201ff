package gatewaytest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

// keyFrame is a frame of a watch in the keys API.
type keyFrame struct {
	Type     string
	Revision int64
	Last     bool
	Key      string
	Value    json.RawMessage
}

// keyStream is a watch of the keys API.
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
	want = append(want, keyFrame{Type: "DELETE", Revision: missed, Last: true, Key: "/app/a"}) // a revision of several keys is sent again
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

// TestKeysByTime reads the past by time, from the timeline of another gateway, and gets the available range when the time is not in it.
func TestKeysByTime(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t, "--keys", "*", "--keys-writable", "/app/")
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	first := etcd.Put(t, "/app/a", "1")
	then := time.Now().Add(-10 * time.Minute)
	// The format of the timeline is fixed, because gateways of other versions must be able to read it.
	etcd.Put(t, fmt.Sprintf("revtail/times/%016x", math.MaxInt64-then.Unix()/10), fmt.Sprintf(`{"time":%q,"revision":%d}`, then.UTC().Format(time.RFC3339Nano), first))
	last := etcd.Put(t, "/app/a", "2")
	for at, want := range map[string]struct {
		code int
		says string
	}{
		"-9m": {200, `"value":1,`},
		then.Add(time.Minute).UTC().Format(time.RFC3339):                                                        {200, `"value":1,`},
		strings.ReplaceAll(then.Add(time.Minute).In(time.FixedZone("", 3600)).Format(time.RFC3339), "+", "%2B"): {200, `"value":1,`},
		"-11m": {410, then.UTC().Format(time.RFC3339)},
		then.Add(-time.Hour).UTC().Format(time.RFC3339):      {410, "the oldest time on record"},
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339): {400, "in the future"},
	} {
		answer := gw.Do(t, http.MethodGet, "/v1/keys/app/a?at="+at, "")
		if answer.Code != want.code || !strings.Contains(answer.Body, want.says) {
			t.Errorf("at=%s: %d %s, want %d with %s", at, answer.Code, answer.Body, want.code, want.says)
		}
		if asOf := answer.Header.Get("Revtail-Time"); answer.Code == 200 && asOf != then.UTC().Format(time.RFC3339) {
			t.Errorf("at=%s: as of %q", at, asOf)
		}
	}
	if answer := gw.Do(t, http.MethodGet, "/v1/keys?key=revtail/times/", ""); answer.Code != http.StatusForbidden {
		t.Errorf("the timeline itself: %d", answer.Code)
	}
	etcd.Compact(t, last)
	if answer := gw.Do(t, http.MethodGet, "/v1/keys/app/a?at=-9m", ""); answer.Code != http.StatusGone || !strings.Contains(answer.Body, fmt.Sprintf("revision %d has been compacted", first)) {
		t.Errorf("a time before the compaction: %d %s", answer.Code, answer.Body)
	}
}

// TestKeysOfSeveralRanges follows keys and prefixes of an etcd in one stream, through a kill of the gateway.
func TestKeysOfSeveralRanges(t *testing.T) {
	t.Parallel()
	cluster := gatewaytest.StartEtcd(t, 1)
	etcd := gatewaytest.DialEtcd(t, cluster.Endpoints())
	gw := gatewaytest.Start(t, "--etcd-endpoints", cluster.Endpoints(), "--keys", "/app/,flat")
	const path = "/v1/keys?watch&key=/app/b/&key=/app/a/&key=flat"
	etcd.Put(t, "/app/c", "0")
	stream := watchKeys(t, gw, path)
	if frame := stream.next(); frame.Type != "SYNC" {
		t.Fatalf("%+v", frame)
	}
	write := func() (want []keyFrame) {
		for i, keys := range [][]string{{"/app/a/x", "flat"}, {"/app/b/x"}, {"/app/c"}, {"/app/a/x", "/app/b/y", "/app/c"}, {"flat"}} {
			var pairs []string
			for _, key := range keys {
				pairs = append(pairs, key, fmt.Sprint(i))
			}
			revision := etcd.Put(t, pairs...)
			keys = slices.DeleteFunc(keys, func(key string) bool { return key == "/app/c" })
			for n, key := range keys {
				want = append(want, keyFrame{Type: "PUT", Revision: revision, Key: key, Value: []byte(fmt.Sprint(i)), Last: n == len(keys)-1})
			}
		}
		return want
	}
	read := func(n int) (got []keyFrame) {
		for range n {
			got = append(got, stream.next())
		}
		return got
	}
	want := write()
	if diff := cmp.Diff(want, read(len(want))); diff != "" {
		t.Error(diff)
	}
	since := want[len(want)-1].Revision
	gw.Kill(t)
	want = write()
	gw.Restart(t)
	stream = watchKeys(t, gw, fmt.Sprintf("%s&since=%d", path, since))
	if diff := cmp.Diff(want, read(len(want))); diff != "" {
		t.Error(diff)
	}
}

var number = regexp.MustCompile(`"lease":"[0-9a-f]+"|("(?:[rR]evision|createRevision|modRevision)": ?|"resourceVersion":"|\brevision )\d+`)

// TestKeysInTheDocuments runs the commands of the documents about keys and about filters on the same gateway, and compares the output,
// except for revisions.
func TestKeysInTheDocuments(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	trap, gw := gatewaytest.NewTrap(t), gatewaytest.Start(t, "--keys-writable", "/app/")
	programs := t.TempDir()
	if err := os.Symlink(gatewaytest.Binary(t), filepath.Join(programs, "revtail")); err != nil {
		t.Fatal(err)
	}
	var steps []gatewaytest.Step
	for _, path := range []string{keysDocument, "../watchcache/filter/README.md"} {
		for _, block := range gatewaytest.ReadDocument(t, path) {
			if block.Language == "console" {
				steps = append(steps, block.Steps()...)
			}
		}
	}
	for _, step := range steps {
		run := exec.CommandContext(t.Context(), "bash", "-c", strings.ReplaceAll(step.Command, "localhost:8080", strings.TrimPrefix(gw.URL, "http://")))
		run.Env = append(trap.Env(programs), "REVTAIL_SERVER="+gw.URL)
		got, err := run.Output()
		if err != nil && run.ProcessState.ExitCode() != 28 { // the timeout of curl
			t.Errorf("%s: %v", step.Command, err)
		}
		if diff := cmp.Diff(number.ReplaceAllString(strings.TrimSpace(step.Output), "${1}N"), number.ReplaceAllString(strings.TrimSpace(string(got)), "${1}N")); diff != "" {
			t.Errorf("%s (-document +got)\n%s", step.Command, diff)
		}
	}
	if len(steps) < 11 {
		t.Errorf("the documents have %d commands", len(steps))
	}
}

// keysDocument describes /v1/keys.
const keysDocument = "../keys/README.md"
