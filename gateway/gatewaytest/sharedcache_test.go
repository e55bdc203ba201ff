package gatewaytest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"revtail/gateway/gatewaytest"
)

// startCache starts nginx with the configuration of the document about keys, before an upstream, and returns its URL.
func startCache(t *testing.T, upstream string) string {
	t.Helper()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		if nginx, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			t.Skip("nginx is not installed (Debian: nginx-light)")
		}
	}
	text, err := os.ReadFile(keysDocument)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "```nginx\n")
	recipe, _, _ := strings.Cut(section, "```\n")
	folder, socket := t.TempDir(), httptest.NewServer(nil)
	address := strings.TrimPrefix(socket.URL, "http://")
	socket.Close() // its port is free now
	recipe = strings.NewReplacer("/var/cache/nginx/revtail", filepath.Join(folder, "cache"), "http://127.0.0.1:8080", upstream, "listen 80", "listen "+address).Replace(recipe)
	var main strings.Builder
	if os.Getuid() == 0 {
		main.WriteString("user root;\n")
	}
	fmt.Fprintf(&main, "worker_processes 1;\nworker_rlimit_nofile 8192;\npid %[1]s/pid;\nerror_log %[1]s/log;\nevents { worker_connections 4096; }\nhttp {\naccess_log off;\n", folder)
	for _, temp := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&main, "%s_temp_path %s/%s;\n", temp, folder, temp)
	}
	main.WriteString(recipe + "}\n")
	config := filepath.Join(folder, "nginx.conf")
	if err := os.WriteFile(config, []byte(main.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(more ...string) {
		out, err := exec.CommandContext(t.Context(), nginx, append([]string{"-c", config, "-e", folder + "/log"}, more...)...).CombinedOutput()
		if err != nil {
			t.Errorf("nginx: %v\n%s\n%s", err, out, main.String())
		}
	}
	run()                                                                        // returns when it listens
	stop := exec.Command(nginx, "-c", config, "-e", folder+"/log", "-s", "stop") //nolint:noctx // the test's context has ended then
	t.Cleanup(func() { _ = stop.Run() })
	return "http://" + address
}

// TestSharedCache checks that of a thousand identical requests for the past, or of a thousand long polls, one reaches the gateway.
func TestSharedCache(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t, "--keys-writable", "/app/")
	target, err := url.Parse(gw.URL)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	arrived := make(chan struct{}, 10_000)
	forward := httputil.NewSingleHostReverseProxy(target)
	counter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		arrived <- struct{}{}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(counter.Close)
	cache := startCache(t, counter.URL)
	put := func(value string) int64 {
		revision, err := strconv.ParseInt(strings.Trim(gw.Do(t, http.MethodPut, "/v1/keys/app/a", value).Header.Get("ETag"), `"`), 10, 64)
		if err != nil {
			t.Error(err)
		}
		return revision
	}
	first := put("1")
	last := put("2")
	ask := func(path string, meanwhile func()) (bodies map[string]int) {
		const requests = 1000
		asked.Store(0)
		transport := &http.Transport{MaxIdleConnsPerHost: requests}
		defer transport.CloseIdleConnections()
		bodies = map[string]int{}
		var mu sync.Mutex
		var running sync.WaitGroup
		for range requests {
			running.Go(func() {
				body := get(t, transport, cache+path)
				mu.Lock()
				bodies[body]++
				mu.Unlock()
			})
		}
		meanwhile()
		running.Wait()
		if n := asked.Load(); n != 1 {
			t.Errorf("%s: of %d requests %d reached the gateway", path, requests, n)
		}
		return bodies
	}
	past := ask(fmt.Sprintf("/v1/keys/app/?at=%d", first), func() { <-arrived })
	for body := range past {
		if len(past) > 1 || !strings.Contains(body, `"value":1,`) {
			t.Errorf("answers about the past: %v", past)
		}
	}
	var changed int64
	polled := ask(fmt.Sprintf("/v1/keys/app/?wait=1m&since=%d", last), func() {
		<-arrived
		changed = put("3")
	})
	for body := range polled {
		if len(polled) > 1 || !strings.Contains(body, fmt.Sprintf(`{"revision":%d,"events":[{`, changed)) {
			t.Errorf("answers to long polls: %v", polled)
		}
	}
}

// TestStreamThroughCache checks that the same nginx forwards streams at once, and several of the same URL.
func TestStreamThroughCache(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t, "--keys-writable", "/app/")
	through := *gw
	through.URL = startCache(t, gw.URL)
	one, other := watchKeys(t, &through, "/v1/keys/app/?watch"), watchKeys(t, &through, "/v1/keys/app/?watch")
	for _, stream := range []*keyStream{one, other} {
		if frame := stream.next(); frame.Type != "SYNC" {
			t.Errorf("%+v", frame)
		}
	}
	gw.Do(t, http.MethodPut, "/v1/keys/app/a", "1")
	for _, stream := range []*keyStream{one, other} {
		if frame := stream.next(); frame.Type != "PUT" || frame.Key != "/app/a" {
			t.Errorf("%+v", frame)
		}
	}
}

func get(t *testing.T, transport http.RoundTripper, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Sprint(response.Status, err)
	}
	return string(body)
}
