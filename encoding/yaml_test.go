package encoding

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"revtail/encoding/jsontext"
)

// TestYAML checks that the text is readable and keeps all digits.
func TestYAML(t *testing.T) {
	doc := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"web","labels":{"on":"off","n":"1","v":"1e3","date":"2026-11-21"},"finalizers":[]},` +
		`"data":{"script":"#!/bin/sh\nexit 0\n","list":"- a\n- b","empty":"","lead":"  a\nb","end":"a\n\n","tab":"a\tb","quote":"it's \"so\"","colon":"a: b"},` +
		`"spec":{"big":123456789012345678901234567890,"small":1e-400,"one":1.0,"yes":true,"no":null,"empty":{},"nested":[[1,[2]],{"a":[{"b":1,"c":2}]}]}}`
	text, err := YAML([]byte(doc + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "yaml", text)
	var decodeErr *jsontext.DecodeError
	if _, err := YAML([]byte(`{"a"}`)); !errors.As(err, &decodeErr) {
		t.Errorf("malformed JSON: %v, want a *jsontext.DecodeError", err)
	}
}

// TestYAMLStaysSmall checks that indentation does not make the text of a deep document grow with the square of its depth.
func TestYAMLStaysSmall(t *testing.T) {
	const depth = 5000
	text, err := YAML([]byte(strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)))
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 10*depth {
		t.Errorf("%d bytes for %d levels", len(text), depth)
	}
}

// FuzzYAML checks that a YAML parser reads the document that was written.
func FuzzYAML(f *testing.F) {
	for _, text := range []string{
		"", " ", "\n", "a\n", "a\nb", "a\n\nb\n", " a\nb", "a \nb", "\ta\nb", "a\n\tb", "a\n ", "a\r\nb", "\u0085", "\u2028", "\ufeff", "\x7f", "\x00", "😀",
		"yes", "null", "~", "1", "0x1", "1:30", "1_000", ".inf", "2026-11-21", "- a", "a: b", "# a", "a #b", "[a]", "{a}", "*a", "&a", "!a", "|", ">", "%a", "@a", "`a",
		"---", "...", "---\na", "a\n---\nb", "=", "<<", "'", "\"", "\\", "?", "? a", "-", ": a", strings.Repeat("long ", 60), strings.Repeat("x", 2000),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // JSON is UTF-8
		}
		want := map[string]any{"v": text, "list": []any{text, map[string]any{"v": text, "z": []any{}}}}
		if text != "v" && text != "list" {
			want[text] = "k"
		}
		doc, err := Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		written, err := YAML(doc)
		if err != nil {
			t.Fatal(err)
		}
		read, err := yaml.YAMLToJSON(written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		var got map[string]any
		if err := json.Unmarshal(read, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s\n%s", diff, written)
		}
	})
}
