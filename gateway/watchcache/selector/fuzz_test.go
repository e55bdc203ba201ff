package selector

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"revtail/encoding/jsontext"
)

// document is an object that is read by encoding/json.
type document struct {
	namespace, name string
	text            []byte
	value           map[string]any
}

func (d document) Namespace() string      { return d.namespace }
func (d document) Name() string           { return d.name }
func (d document) SelectDocument() []byte { return d.text }

func (d document) SelectLabels() labels.Labels {
	out := labels.Set{}
	metadata, _ := d.value["metadata"].(map[string]any)
	of, _ := metadata["labels"].(map[string]any)
	for name, value := range of {
		if text, ok := value.(string); ok {
			out[name] = text
		}
	}
	return out
}

// field returns the value of a field as package fields does, for fields that are strings.
func (d document) field(name string) (value string, ok bool) {
	switch name = strings.TrimPrefix(name, "."); name {
	case nameField:
		return d.name, true
	case namespaceField:
		return d.namespace, true
	}
	var at any = d.value
	for member := range strings.SplitSeq(name, ".") {
		object, _ := at.(map[string]any)
		if at, ok = object[member]; !ok {
			return "", true
		}
	}
	value, ok = at.(string)
	return value, ok
}

// FuzzParse checks that a selector selects what the packages labels and fields of Kubernetes do, has at most maxRequirements of a kind,
// and never selects an object that its index (Name, Namespace, Equality) would leave out.
func FuzzParse(f *testing.F) {
	const pod = `{"metadata":{"name":"a","labels":{"app":"web","tier":""}},"spec":{"nodeName":"n1","x":{"y":"z,="}}}`
	for _, seed := range [][2]string{
		{"app=web,tier", "metadata.name=a"}, {"app in (web, db),!gone", "spec.nodeName!=n2,metadata.namespace==ns"},
		{"app notin (web)", `spec.x.y=z\,\=`}, {"", ".metadata.name=b,metadata.name=a"}, {"n>5,m<7", "=a"}, {"app in ()", "spec..x=1"},
	} {
		f.Add(seed[0], seed[1], "ns", "a", []byte(pod))
	}
	f.Fuzz(func(t *testing.T, labelSelector, fieldSelector, namespace, name string, text []byte) {
		s, err := Parse(labelSelector, fieldSelector)
		if err != nil {
			return
		}
		if len(s.Fields()) > maxRequirements {
			t.Errorf("%q has %d requirements", fieldSelector, len(s.Fields()))
		}
		d := document{namespace: namespace, name: name, text: text}
		if _, err := jsontext.Unmarshal(text); err != nil || json.Unmarshal(text, &d.value) != nil {
			return // the cache has no such object
		}
		got := s.Matches(d)
		if want, ok := d.selected(t, labelSelector, fieldSelector); ok && got != want {
			t.Errorf("%q and %q select %s %s %s: %v, want %v", labelSelector, fieldSelector, namespace, name, text, got, want)
		}
		if only, ok := s.Name(); ok && got && only != name {
			t.Errorf("%q selects %q, and is about %q", fieldSelector, name, only)
		}
		if only, ok := s.Namespace(); ok && got && only != namespace {
			t.Errorf("%q selects an object in %q, and is about %q", fieldSelector, namespace, only)
		}
		if only, ok := s.Equality(); ok && got && only.Of(d) != only.Value {
			t.Errorf("%q and %q select an object with %s %q, and require %q", labelSelector, fieldSelector, only.Key, only.Of(d), only.Value)
		}
		if s.Empty() && !got {
			t.Errorf("%q and %q are empty and select nothing", labelSelector, fieldSelector)
		}
	})
}

// selected reports whether the packages labels and fields select the object; !ok: a field is no string, which they do not know.
func (d document) selected(t *testing.T, labelSelector, fieldSelector string) (selected, ok bool) {
	t.Helper()
	byLabels, err := labels.Parse(labelSelector)
	if err != nil {
		t.Fatalf("%q is accepted: %v", labelSelector, err)
	}
	byFields, err := fields.ParseSelector(fieldSelector)
	if err != nil {
		t.Fatalf("%q is accepted: %v", fieldSelector, err)
	}
	set := fields.Set{}
	for _, r := range byFields.Requirements() {
		if set[r.Field], ok = d.field(r.Field); !ok {
			return false, false
		}
	}
	return byLabels.Matches(d.SelectLabels()) && byFields.Matches(set), true
}
