package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"revtail/encoding/jsontext"
)

// FuzzDecodeJSON checks that Decode accepts each object that encoding/json accepts, except above a limit, and decodes it alike.
func FuzzDecodeJSON(f *testing.F) {
	for _, body := range []string{`{}`, `{"a":1,"a":2}`, `{"a":{"b":[1,{"c":null,"c":1.50}]}}`, `[]`, `{"a":"\u0041\"","A":tru}`, `null`, ``, nested(65)} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := Decode(JSON, body)
		if _, limited := errors.AsType[*LimitError](err); limited {
			return
		}
		want, wantErr := jsontext.Unmarshal(body)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("error %v, want %v", err, wantErr)
		}
		if diff := cmp.Diff(want, got.Object); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if err == nil {
			checkDuplicates(t, body, got.Duplicates)
		}
	})
}

// checkDuplicates checks that duplicates are reported if, and only if, a walk over all tokens finds some.
func checkDuplicates(t *testing.T, body []byte, got []string) {
	t.Helper()
	want := duplicates(body)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("duplicates (-want +got):\n%s", diff)
	}
}

// FuzzDecodeYAML checks that Decode returns an object within the limits or one of its errors for any body.
func FuzzDecodeYAML(f *testing.F) {
	for _, document := range documents {
		f.Add([]byte(document))
	}
	for _, document := range []string{bomb("[%s]"), bomb("{<<: [%s]}"), "a: &a [*a]", "? a\n: b", "a: !!float 1", "- - - a", "a: !!binary aGk=", "--- a\n--- b"} {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := Decode(YAML, body)
		if err != nil {
			_, syntax := errors.AsType[*SyntaxError](err)
			_, limit := errors.AsType[*LimitError](err)
			if !syntax && !limit && !errors.Is(err, ErrNotObject) && !errors.Is(err, ErrNotUTF8) {
				t.Errorf("an undocumented error: %v", err)
			}
			return
		}
		text, err := json.Marshal(got.Object)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 6*len(body)+2*maxAliased || !utf8.Valid(text) {
			t.Errorf("%d bytes became %d", len(body), len(text))
		}
		again, err := Decode(JSON, text)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := json.Marshal(again.Object); err != nil || !bytes.Equal(text, second) {
			t.Errorf("decoded again: %s, %v; want %s", second, err, text)
		}
	})
}
