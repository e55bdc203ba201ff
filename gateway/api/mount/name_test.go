package mount

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"revtail/gateway/resource"
)

func TestNames(t *testing.T) {
	for key, want := range map[string]string{
		"log-level":    "log-level",
		"nginx.conf":   "nginx.conf",
		"db/host":      "db--host",
		"a/b/c":        "a--b--c",
		"logLevel":     "log---4c-evel",
		"DB_HOST":      "x---44425f484f5354",
		"Feature":      "x---46-eature",
		"xA":           "x---7841",
		"x/a":          "x--a",
		"x":            "x",
		"-A":           "x---2d41",
		"":             "x---empty",
		"/":            "x---2f",
		"a//b":         "a---2f2f-b",
		"a/":           "a---2f",
		"..":           "x---2e2e",
		"a..b":         "a---2e2e-b",
		"a--b":         "a---2d2d-b",
		"ключ":         "x---d0bad0bbd18ed187",
		"with space":   "with---20-space",
		"\x00\xff%":    "x---00ff25",
		"a-.b":         "a---2d2e-b",
		"x---empty":    "x---782d2d2d-empty",
		"x---41":       "x---782d2d2d-41",
		"10.0.0.1/eth": "10.0.0.1--eth",
	} {
		if got := escapeName(key, inName); got != want {
			t.Errorf("the name of %q is %s, want %s", key, got, want)
		}
	}
	for _, name := range []string{"A", "a_b", "a/b", "a--", "--a", "a---", "a---zz", "a---4", "a---41", "a---61", "x---61", "a---41b", "x---", "", "-", "a---2d-b", "a---2f-b",
		"a---2F-b", "x---41-", "x---41--b", "..", "x---empty-"} {
		if key, ok := unescapeName(name, inName); ok && name != "a---41" {
			t.Errorf("%q is the name of %q", name, key)
		}
	}
}

// FuzzNames checks that a name leads back to its key, that two keys never have the same name, and that every name is a valid DNS subdomain,
// except for its length, and every namespace a valid label.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"log-level", "db/host", "DB_HOST", "x---41", "x---empty", "", "a//b", "..", "-", "ключ", "\xff", "xA", "x/", "x.A", "a--b", "a---41", "x---none"} {
		f.Add(seed, seed+"x")
	}
	flat := &Mount{Prefix: "/app/"}
	deep := &Mount{Prefix: "/app/", Namespaced: true}
	f.Fuzz(func(t *testing.T, key, other string) {
		for _, separators := range []string{inName, inNamespace} {
			name := escapeName(key, separators)
			if back, ok := unescapeName(name, separators); !ok || back != key {
				t.Fatalf("%q has the name %q, which belongs to %q, %v", key, name, back, ok)
			}
			if key != other && name == escapeName(other, separators) {
				t.Errorf("%q and %q have the same name %q", key, other, name)
			}
			for _, problem := range validation.IsDNS1123Subdomain(name) {
				if !strings.Contains(problem, "no more than") {
					t.Errorf("%q is %q: %s", key, name, problem)
				}
			}
			if separators == inNamespace && strings.Contains(name, ".") {
				t.Errorf("%q is the namespace %q", key, name)
			}
			// Any text that is not the name of a key is refused.
			if back, ok := unescapeName(other, separators); ok && escapeName(back, separators) != other {
				t.Errorf("%q is accepted as the name of %q", other, back)
			}
		}
		for _, m := range []*Mount{flat, deep} {
			path := m.Path(key)
			if path == m.Path(other) && key != other {
				t.Errorf("%q and %q have the path %q", key, other, path)
			}
			scope, ok := m.split(path)
			if !ok {
				if 6*len(key)+2 <= maxName { // the longest possible name
					t.Errorf("%q has no name: %q", key, path)
				}
				continue
			}
			if back, ok := m.Key(scope); !ok || back != m.Prefix+key {
				t.Errorf("%q is %+v, which is %q, %v", key, scope, back, ok)
			}
			if scope.Path() != path {
				t.Errorf("%q is %+v, and %q", key, scope, path)
			}
		}
		if back, ok := deep.Key(resource.Scope{Namespace: key, Name: other}); ok && !strings.HasPrefix(back, "/app/") {
			t.Errorf("%q is outside of the mount", back)
		}
	})
}
