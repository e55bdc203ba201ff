package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/api/mount"
)

func loadFile(t *testing.T, content string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "revtail.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := (&Flags{file: path}).Load(nil)
	if err == nil {
		err = c.Validate()
	}
	return c, err
}

func TestMounts(t *testing.T) {
	c, err := loadFile(t, `apiVersion: revtail/v1
mounts:
- {prefix: /app/config/, group: app.example.com, kind: Setting, plural: settings}
- prefix: /teams/
  group: app.example.com
  version: v2
  kind: Team
  plural: teams
  namespaced: true
  codec: yaml
  writable: true
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []mount.Mount{
		{Prefix: "/app/config/", Group: "app.example.com", Version: "v1", Kind: "Setting", Plural: "settings", Codec: "json"},
		{Prefix: "/teams/", Group: "app.example.com", Version: "v2", Kind: "Team", Plural: "teams", Namespaced: true, Codec: "yaml", Writable: true},
	}
	if diff := cmp.Diff(want, c.Mounts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	printed, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := loadFile(t, string(printed))
	if diff := cmp.Diff(want, again.Mounts); diff != "" || err != nil {
		t.Errorf("printed and read again: %v, -want +got:\n%s", err, diff)
	}
}

func TestMountsAreRefused(t *testing.T) {
	const good = "{prefix: /a/, group: a.example.com, kind: Setting, plural: settings}"
	for entries, want := range map[string]string{
		"mounts: 1":                                                    "mounts: want a list",
		"mounts: []":                                                   "",
		"mounts: [" + good + "]":                                       "",
		"mounts: [x]":                                                  "mounts[0]: want an object with prefix, group, kind and plural",
		"mounts: [{prefix: 1}]":                                        "mounts[0]: prefix: want a string, got a number",
		"mounts: [{prefx: /a/}]":                                       "mounts[0]: unknown key prefx (did you mean prefix?)",
		"mount: []":                                                    "unknown key mount (did you mean mounts?)",
		"mounts: [{}]":                                                 "mounts[0]: prefix is missing",
		"mounts: [{prefix: /a}]":                                       `mounts[0]: prefix "/a": want one that ends with /, as "/a/"`,
		"mounts: [{prefix: /}]":                                        `prefix "/": it meets "/registry/", where other resources live (--etcd-prefix)`,
		"mounts: [{prefix: /registry/x/}]":                             `it meets "/registry/"`,
		"etcdPrefix: /a/b\nmounts: [" + good + "]":                     `it meets "/a/b/"`,
		"mounts: [{prefix: revtail/x/}]":                               "the gateway's own",
		"mounts: [{prefix: /a/, group: a_b}]":                          `group "a_b": a lowercase RFC 1123 subdomain`,
		"mounts: [{prefix: /a/}]":                                      "group is missing, as app.example.com",
		"mounts: [{prefix: /a/, group: a.b}]":                          "plural is missing, as settings",
		"mounts: [" + good[:len(good)-1] + ", codec: xml}]":            `codec "xml": want json, yaml, string or bytes`,
		"mounts: [" + good[:len(good)-1] + ", version: 1}]":            "version: want a string",
		"mounts: [" + good[:len(good)-1] + ", version: \"\"}]":         "version is missing, as v1",
		"mounts: [{prefix: /a/, group: a.b, kind: X, plural: status}]": `plural "status" means something else`,
		"mounts: [" + good + ", {prefix: /a/b/, group: b.c, kind: X, plural: xs}]":                            `mounts[0] and mounts[1]: the prefixes "/a/" and "/a/b/" meet`,
		"mounts: [" + good + ", {prefix: /b/, group: a.example.com, version: v2, kind: X, plural: settings}]": "both are called settings.a.example.com",
		"mounts: [" + good + ", {prefix: /b/, group: a.example.com, kind: Setting, plural: others}]":          "both are of the kind Setting.a.example.com",
		"mounts: [" + good + ", {prefix: /b/, group: a.example.com, kind: X, plural: setting}]":               "can be taken for one another",
	} {
		_, err := loadFile(t, "apiVersion: revtail/v1\n"+entries+"\n")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", entries, err, want)
		}
	}
}
