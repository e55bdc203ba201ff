package gatewaytest_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// doctor runs `revtail doctor`, with more arguments if there are any, and returns its output.
func doctor(t *testing.T, etcd, server string, wantCode int, args ...string) string {
	t.Helper()
	args = append([]string{"doctor", "--etcd-endpoints", etcd, "--server", server}, args...)
	cmd := exec.CommandContext(t.Context(), gatewaytest.Binary(t), args...)
	cmd.Env = []string{} // without a REVTAIL_… of the tests' own environment
	said, err := cmd.Output()
	code := 0
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		code = ended.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if code != wantCode {
		t.Errorf("doctor exits with %d, want %d:\n%s", code, wantCode, said)
	}
	return string(said)
}

func wantSays(t *testing.T, said string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("doctor does not say %q:\n%s", text, said)
		}
	}
}

// TestDoctorFindsProxies checks that doctor distinguishes an nginx that buffers events from one that cuts idle streams, names the setting
// of each, and accepts the nginx.conf of deploy.
func TestDoctorFindsProxies(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	for name, test := range map[string]struct {
		changes []string
		code    int
		says    []string
	}{
		"correct": {nil, 0, []string{"ok    stream"}},
		"buffers": {
			[]string{"proxy_buffering off", "proxy_buffering on", "proxy_http_version 1.1", "proxy_http_version 1.0"}, 1,
			[]string{"FAIL  stream", "buffers streams", "nginx: proxy_http_version 1.1, proxy_buffering off"},
		},
		"cuts idle streams": {
			[]string{"proxy_read_timeout 2h", "proxy_read_timeout 500ms"}, 1,
			[]string{"FAIL  stream", "an idle watch was cut", "nginx: proxy_read_timeout 2h"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			front := gatewaytest.StartProxy(t, "nginx.conf", gw, gw, test.changes...)
			wantSays(t, doctor(t, gw.EtcdEndpoint, front.URL, test.code), test.says...)
		})
	}
}

// TestDoctorComparesWithGateway checks a gateway with another clock and another version.
func TestDoctorComparesWithGateway(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	target, err := url.Parse(gw.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{DisableKeepAlives: true},
		FlushInterval: -1,
		ModifyResponse: func(resp *http.Response) error {
			resp.Header.Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
			if resp.Request.URL.Path == "/version" {
				const other = `{"gitVersion":"v1.37.0+revtail.0.0.1"}`
				resp.Body, resp.ContentLength = io.NopCloser(bytes.NewBufferString(other)), int64(len(other))
				resp.Header.Del("Content-Length")
			}
			return nil
		},
	})
	defer front.Close()
	wantSays(t, doctor(t, gw.EtcdEndpoint, front.URL, 0),
		"warn  clock     this machine's differs from the gateway's by -", "NTP",
		"warn  version   the gateway is v1.37.0+revtail.0.0.1, this program", "run the same release")
}
