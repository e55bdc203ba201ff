package gatewaytest_test

import (
	"regexp"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

var adminURL = regexp.MustCompile(`"admin":"([^"]+)"`)

// TestAdminBrowsers checks that no page of another origin can read the operators' listener, or start a profile there, and that programs and
// the operator's own browser can.
func TestAdminBrowsers(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t, "--admin-listen", "127.0.0.1:0", "--allowed-hosts", "revtail.example.com", "--cors-allowed-origins", "https://friend.example.com")
	admin := *gw
	admin.URL = adminURL.FindStringSubmatch(gw.Log(t))[1]
	own := strings.TrimPrefix(admin.URL, "http://")
	_, port, _ := strings.Cut(own, ":")
	for _, tt := range []struct {
		name    string
		headers string
		code    int
	}{
		{"a program", "", 200},
		{"localhost", "Host: localhost:" + port, 200},
		{"IPv6", "Host: [::1]", 200},
		{"a name of this server", "Host: revtail.example.com:8081", 200},
		{"an address that was typed", "Sec-Fetch-Site: none", 200},
		{"a link of its own page", "Sec-Fetch-Site: same-origin", 200},
		{"its own page in an old browser", "Origin: http://" + own, 200},
		{"rebinding", "Host: evil.example.com:" + port, 403},
		{"rebinding, as the browser sees it", "Host: evil.example.com|Sec-Fetch-Site: same-origin", 403},
		{"another machine", "Host: 10.0.0.1", 403},
		{"a picture of a foreign page", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: no-cors|Sec-Fetch-Dest: image", 403},
		{"a link of a foreign page", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate", 403},
		{"a page on another port", "Sec-Fetch-Site: same-site", 403},
		{"a foreign page in an old browser", "Origin: https://evil.example.com", 403},
		{"a page that may use the API", "Sec-Fetch-Site: cross-site|Origin: https://friend.example.com", 403},
		{"a value of the future", "Sec-Fetch-Site: nearly", 403},
	} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST"} {
			for _, path := range []string{"/metrics", "/debug/pprof/cmdline", "/debug/watchers", "/livez", "/"} {
				var headers []string
				if tt.headers != "" {
					headers = strings.Split(tt.headers, "|")
				}
				resp, answer := ask(t, &admin, method, path, "", headers...)
				if refused := resp.StatusCode == 403; refused != (tt.code == 403) {
					t.Errorf("%s: %s %s: %s, want %d", tt.name, method, path, resp.Status, tt.code)
				}
				if method == "GET" && path != "/" && tt.code == 200 && resp.StatusCode != 200 {
					t.Errorf("%s: %s: %s", tt.name, path, answer)
				}
			}
		}
	}
	answer := gw.Do(t, "GET", "/metrics", "")
	for _, reason := range []string{"host", "origin"} {
		if n := answer.Metric(`revtail_requests_refused_total{reason="` + reason + `"}`); n == "" || n == "0" {
			t.Errorf("refused because of the %s: %q", reason, n)
		}
	}
}
