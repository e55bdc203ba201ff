package gatewaytest_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestTruncatedFiles checks that an empty file, which an editor leaves for a moment before it writes the new content, or one with only
// comments takes no right from anybody, and is reported.
func TestTruncatedFiles(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, true, []string{"root"}, bind("root", "cluster-admin"))
	root := g.user("root")
	watch := root.Watch(t, configMaps+"?watch=1")
	dir := filepath.Dir(g.policy)
	const rejected = "a file has changed but cannot be used: what it said before stays in use"
	for _, file := range []string{g.policy, g.tokens, g.ca, filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")} {
		for _, content := range []string{"", "# soon\n"} {
			before := strings.Count(g.Log(t), rejected)
			replaceFile(t, file, []byte(content))
			g.Hangup(t)
			gatewaytest.Until(t, "a line in the log about "+file, func() bool { return strings.Count(g.Log(t), rejected) > before })
			if answer := root.Do(t, http.MethodGet, configMaps, ""); answer.Code != 200 {
				t.Errorf("with %q in %s: %d, want the result of the earlier file", content, file, answer.Code)
			}
		}
	}
	created := root.Create(t, configMaps, gatewaytest.ConfigMap("last", ""))
	if event := watch.Next(t); event.Object.Metadata.Name != created.Metadata.Name {
		t.Errorf("%s, want the object that was created after all changes", event.Line)
	}
	metrics := root.Do(t, http.MethodGet, "/metrics", "")
	for _, flag := range []string{"--policy-file", "--token-file"} {
		if ok := metrics.Metric(`revtail_file_last_reload_successful{flag="` + flag + `"}`); ok != "0" {
			t.Errorf("the last reload of %s was successful: %q, want 0", flag, ok)
		}
	}
}
