package resource

import (
	"net/url"
	"strings"
	"testing"
)

func TestParsePath(t *testing.T) {
	for path, want := range map[string]string{
		"/":                     "",
		"/api/v1/pods":          "api|v1|pods",
		"/api/v1/pods/":         "api|v1|pods",
		"/api/v1/%70ods":        "api|v1|pods",
		"/a/kube-system/x.y":    "a|kube-system|x.y",
		"/a/%E2%82%AC/system:x": "a|€|system:x",
	} {
		segments, err := ParsePath(path)
		if got := strings.Join(segments, "|"); err != nil || got != want {
			t.Errorf("ParsePath(%q) = %q, %v; want %q", path, got, err, want)
		}
	}
	for _, path := range []string{"", "api", "//api", "/a//b", "/a/..", "/a/../b", "/a/.", "/a/%2e%2e/b", "/a/b%2fc", "/a/b%2Fc", "/a/%00", "/a/b%00c",
		"/a/%ff", "/a/%c0%af", "/a/b%5cc", "/a/%252e%252e", "/a/%zz", "/a/b%0ac", "/a/" + strings.Repeat("x", 4096), "//"} {
		if segments, err := ParsePath(path); err == nil {
			t.Errorf("ParsePath(%q) is accepted: %q", path, segments)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{"/api/v1/pods", "/a/%2e%2e/b", "/a/b%2fc", "//", "/a/%ff", "/a;b=c/d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		segments, err := ParsePath(path)
		if err != nil {
			return
		}
		for _, segment := range segments {
			if strings.ContainsAny(segment, "/\\%\x00") || segment == "" || segment == "." || segment == ".." {
				t.Errorf("%q gives the segment %q", path, segment)
			}
		}
		// The segments can be escaped and parsed again, without a change.
		for i := range segments {
			segments[i] = url.PathEscape(segments[i])
		}
		again, err := ParsePath("/" + strings.Join(segments, "/"))
		if err != nil || len(again) != len(segments) {
			t.Errorf("%q cannot be read again: %v", path, err)
		}
	})
}

// FuzzKeys checks that scopes and keys correspond one to one, and that no scope contains a key of another one.
func FuzzKeys(f *testing.F) {
	f.Add("default", "a", "defaul", "ta")
	f.Add("a", "b", "ab", "")
	f.Fuzz(func(t *testing.T, namespace, name, otherNamespace, otherName string) {
		res := &Resource{Version: "v1", Plural: "pods", Namespaced: true}
		one, other := Scope{namespace, name}, Scope{otherNamespace, otherName}
		if !validSegment(namespace) || !validSegment(name) || !validSegment(otherNamespace) || !validSegment(otherName) {
			return
		}
		back, ok := res.Split(one.Path())
		if !ok || back != one {
			t.Errorf("%+v has the path %q, which is of %+v", one, one.Path(), back)
		}
		if one != other && one.Path() == other.Path() {
			t.Errorf("%+v and %+v have the same key", one, other)
		}
		if whole := (Scope{Namespace: otherNamespace}).Path(); strings.HasPrefix(one.Path(), whole) != (namespace == otherNamespace) {
			t.Errorf("the namespace %q contains %q", otherNamespace, one.Path())
		}
	})
}

func TestKeysOfBuiltinKinds(t *testing.T) {
	seen := map[string]string{}
	for _, r := range Builtin() {
		if !r.IsStored() {
			continue // it has the keys of another one
		}
		prefix := r.Prefix("/registry")
		for other, name := range seen {
			if strings.HasPrefix(prefix, other) || strings.HasPrefix(other, prefix) {
				t.Errorf("%s is below %s: %s, %s", r.QualifiedName(), name, prefix, other)
			}
		}
		seen[prefix] = r.QualifiedName()
	}
	if r := NewRegistry(Builtin()).Lookup("apps", "v1", "deployments"); r == nil || r.Prefix("/registry") != "/registry/apps/deployments/" || r.APIVersion() != "apps/v1" {
		t.Errorf("deployments: %+v", r)
	}
}
