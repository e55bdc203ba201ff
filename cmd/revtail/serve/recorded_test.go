package serve

import (
	"slices"
	"strings"
	"testing"

	"revtail/encoding/codec"
	"revtail/gateway/api/mount"
	"revtail/gateway/config"
)

// TestRecordedKeys checks which keys are recorded with which options.
func TestRecordedKeys(t *testing.T) {
	settings := mount.Mount{Prefix: "/app/", Group: "app.example.com", Version: "v1", Kind: "Setting", Plural: "settings", Codec: codec.ValueJSON}
	for name, test := range map[string]struct {
		change func(c *config.Config)
		want   string
	}{
		"all":              {func(*config.Config) {}, "/app/ /registry/"},
		"one":              {func(c *config.Config) { c.HistoryResources = []string{"configmaps"} }, "/registry/configmaps/"},
		"in a group":       {func(c *config.Config) { c.HistoryResources = []string{"deployments.apps"} }, "/registry/apps/deployments/"},
		"a built-in group": {func(c *config.Config) { c.HistoryResources = []string{"*.apps"} }, "/registry/apps/"},
		"custom resources": {func(c *config.Config) { c.HistoryResources = []string{"widgets.example.com"} }, "/registry/example.com/widgets/"},
		"a group of these": {func(c *config.Config) { c.HistoryResources = []string{"*.example.com"} }, "/registry/example.com/"},
		"definitions": {func(c *config.Config) {
			c.HistoryResources = []string{"customresourcedefinitions.apiextensions.k8s.io"}
		}, "/registry/apiextensions.k8s.io/customresourcedefinitions/"},
		"a mount":              {func(c *config.Config) { c.HistoryResources = []string{"settings.app.example.com"} }, "/app/"},
		"the group of a mount": {func(c *config.Config) { c.HistoryResources = []string{"*.app.example.com"} }, "/app/ /registry/app.example.com/"},
		"everything":           {func(c *config.Config) { c.HistoryResources = []string{"configmaps", "*.*"} }, "/app/ /registry/"},
		"events of both":       {func(c *config.Config) { c.HistoryResources = []string{"events", "events.events.k8s.io"} }, "/registry/events/"},
		"keys":                 {func(c *config.Config) { c.HistoryResources, c.HistoryKeys = []string{""}, []string{"/b/", "/b/c"} }, "/b/"},
		"keys that are open":   {func(c *config.Config) { c.Keys = []string{"/a/", "*", "/registry/events/"} }, "/a/ /app/ /registry/"},
		"keys beside resources": {func(c *config.Config) {
			c.HistoryResources, c.Keys = []string{"nodes"}, []string{"/a/", "*", "/registry/events/"}
		}, "/a/ /registry/nodes/"},
		"all but events":        {func(c *config.Config) { c.HistoryResources = []string{"-events"} }, "/app/ /registry/ -/registry/events/"},
		"all but both":          {func(c *config.Config) { c.HistoryResources = []string{"-events.events.k8s.io", "-events", "*.*"} }, "/app/ /registry/ -/registry/events/"},
		"all but a group":       {func(c *config.Config) { c.HistoryResources = []string{"-*.example.com"} }, "/app/ /registry/ -/registry/example.com/"},
		"all but a mount":       {func(c *config.Config) { c.HistoryResources = []string{"-settings.app.example.com"} }, "/registry/"},
		"a group but one of it": {func(c *config.Config) { c.HistoryResources = []string{"*.apps", "-daemonsets.apps"} }, "/registry/apps/ -/registry/apps/daemonsets/"},
		"one but its group":     {func(c *config.Config) { c.HistoryResources = []string{"pods", "daemonsets.apps", "-*.apps"} }, "/registry/pods/"},
		"one but another one":   {func(c *config.Config) { c.HistoryResources = []string{"pods", "-events"} }, "/registry/pods/"},
		"all but some keys": {func(c *config.Config) {
			c.HistoryKeys, c.Keys = []string{"-/a/cache/", "-/a/cache/b", "-/b"}, []string{"/a/", "/b/", "*"}
		}, "/a/ /app/ /registry/ -/a/cache/"},
		"keys but some of them": {func(c *config.Config) {
			c.HistoryResources, c.HistoryKeys = []string{""}, []string{"/a/", "-/a/cache/"}
		}, "/a/ -/a/cache/"},
		"all but one in a cluster": {func(c *config.Config) { c.Cluster, c.HistoryResources = true, []string{"-leases.coordination.k8s.io"} }, "/app/ /registry/ -/registry/leases/"},
		"in a cluster": {func(c *config.Config) {
			c.Cluster, c.HistoryResources = true, []string{"nodes", "services", "deployments.apps"}
		},
			"/registry/deployments/ /registry/minions/ /registry/services/specs/"},
	} {
		c := config.Default()
		c.HistoryDir, c.Mounts = "history", []mount.Mount{settings}
		test.change(&c)
		got, except, err := recordedKeys(c)
		for _, prefix := range except {
			got = append(got, "-"+prefix)
		}
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, %v; want %s", name, got, err, test.want)
		}
	}
	c := config.Default()
	c.HistoryResources = []string{"*."}
	core, _, err := recordedKeys(c)
	if err != nil || !slices.Contains(core, "/registry/pods/") || !slices.Contains(core, "/registry/events/") || slices.ContainsFunc(core, func(p string) bool { return strings.Contains(p, "apps") }) {
		t.Errorf("the core group: %q, %v", core, err)
	}
	for name, says := range map[string]string{
		"deployments": "did you mean deployments.apps?", "deployment.apps": "did you mean deployments.apps?", "pod": "did you mean pods?", "a.batch": "no such resource", "*.foo": "no such resource",
		"-event": "did you mean", "-deployments": "did you mean deployments.apps?",
		"lease.coordination.k8s.io": "did you mean leases.coordination.k8s.io?", "": "nothing is recorded",
	} {
		c.HistoryResources = []string{name}
		if got, _, err := recordedKeys(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %q, %v; want %q", name, got, err, says)
		}
	}
}
