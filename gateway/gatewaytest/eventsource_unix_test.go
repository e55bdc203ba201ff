//go:build unix

package gatewaytest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// page is a page that follows keys with EventSource only, and reports its events.
const page = `<!doctype html><script>
new EventSource('/v1/keys/app/?watch').onmessage = ({data}) => {
  reports = (window.reports || Promise.resolve()).then(() => fetch('/report', {method: 'POST', body: data}))
  window.reports = reports
}
</script>`

// TestEventSource follows keys in a real browser while the gateway is killed, and checks that it reconnects and misses nothing.
func TestEventSource(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	cluster := gatewaytest.StartEtcd(t, 1)
	etcd := gatewaytest.DialEtcd(t, cluster.Endpoints())
	gw := gatewaytest.Start(t, "--etcd-endpoints", cluster.Endpoints(), "--keys", "/app/")
	etcd.Put(t, "/app/before", "1")

	target, err := url.Parse(gw.URL)
	if err != nil {
		t.Fatal(err)
	}
	reports := make(chan keyFrame, 1000)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	mux.HandleFunc("POST /report", func(_ http.ResponseWriter, r *http.Request) {
		var frame keyFrame
		if err := json.NewDecoder(r.Body).Decode(&frame); err != nil {
			t.Errorf("the page reports %v", err)
		}
		if frame.Type != "PROGRESS" {
			reports <- frame
		}
	})
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:    &http.Transport{DisableKeepAlives: true},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // as without a gateway
	}
	mux.Handle("/v1/", proxy)
	front := httptest.NewUnstartedServer(mux)
	front.Config.ErrorLog = nil
	front.Start()
	t.Cleanup(front.Close)
	t.Cleanup(front.CloseClientConnections)

	gatewaytest.OpenPage(t, front.URL, 800, 600)

	next := func() keyFrame {
		t.Helper()
		select {
		case frame := <-reports:
			return frame
		case <-time.After(gatewaytest.Patience):
			t.Fatal("the page reports nothing")
			return keyFrame{}
		}
	}
	if frame := next(); frame.Type != "PUT" || frame.Key != "/app/before" {
		t.Errorf("first %+v", frame)
	}
	if frame := next(); frame.Type != "SYNC" {
		t.Errorf("then %+v", frame)
	}
	for life := range 3 {
		alive := etcd.Put(t, fmt.Sprintf("/app/alive-%d", life), "1")
		if frame := next(); frame.Revision != alive {
			t.Errorf("life %d: %+v, want revision %d", life, frame, alive)
		}
		gw.Kill(t)
		dead := []int64{etcd.Put(t, "/app/dead", fmt.Sprint(life)), etcd.Delete(t, fmt.Sprintf("/app/alive-%d", life))}
		gw.Restart(t)
		for _, want := range dead {
			if frame := next(); frame.Revision != want || !frame.Last {
				t.Errorf("after life %d: %+v, want revision %d", life, frame, want)
			}
		}
	}
}
