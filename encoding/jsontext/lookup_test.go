package jsontext

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	const doc = `{"kind":"Pod","metadata":{"name":"web","a.b/c":"dotted"},"spec":{"n":-1.50e3,"yes":true,"no":false,"nil":null,` +
		`"list":["x"],"object":{"deep":"d"},"text":"a\"\u00e9\n","empty":"","k\u0065y":"escaped"},"twice":1,"twice":{"x":"last"}}`
	tests := []struct {
		path  string // joined by spaces
		want  string
		found bool
	}{
		{"kind", "Pod", true},
		{"metadata name", "web", true},
		{"metadata a.b/c", "dotted", true},
		{"spec n", "-1.50e3", true},
		{"spec yes", "true", true},
		{"spec no", "false", true},
		{"spec object deep", "d", true},
		{"spec text", "a\"é\n", true},
		{"spec empty", "", true},
		{"spec key", "escaped", true},
		{"twice x", "last", true},
		{"twice", "", false},
		{"spec nil", "", false},
		{"spec list", "", false},
		{"spec list 0", "", false},
		{"spec object", "", false},
		{"spec n deep", "", false},
		{"spec missing", "", false},
		{"missing", "", false},
		{"", "", false},
	}
	for _, tt := range tests {
		got, found := Lookup([]byte(doc), strings.Fields(tt.path))
		if got != tt.want || found != tt.found {
			t.Errorf("%q: got %q, %t; want %q, %t", tt.path, got, found, tt.want, tt.found)
		}
	}
}

// FuzzLookup compares Lookup with decoding to maps.
func FuzzLookup(f *testing.F) {
	for _, value := range texts {
		f.Add([]byte(value), "metadata\nlabels\na")
		f.Add([]byte(value), "spec\na\nb")
		f.Add([]byte(value), "a\nb")
	}
	f.Fuzz(func(t *testing.T, doc []byte, joined string) {
		path := strings.Split(joined, "\n")
		want, wantFound := lookedUp(doc, path)
		got, found := Lookup(doc, path)
		if got != want || found != wantFound {
			t.Errorf("%q in %s: got %q, %t; want %q, %t", path, doc, got, found, want, wantFound)
		}
	})
}

// lookedUp is the oracle of Lookup: it decodes to maps.
func lookedUp(doc []byte, path []string) (string, bool) {
	value, _ := decode(doc)
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	switch value := value.(type) {
	case string:
		return value, true
	case json.Number:
		return value.String(), true
	case bool:
		if value {
			return "true", true
		}
		return "false", true
	}
	return "", false
}
