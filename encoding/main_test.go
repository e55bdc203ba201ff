package encoding

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares got with a file in testdata, byte for byte.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs from the bytes sent (-file +sent); after an intended change, run the test with -update:\n%s", file, diff)
	}
}

// decode is the oracle of the tests: encoding/json, which keeps the text of numbers.
func decode(doc []byte) (any, bool) {
	if !utf8.Valid(doc) {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var value any
	if json.Unmarshal(doc, new(any)) != nil || decoder.Decode(&value) != nil {
		return nil, false
	}
	return value, true
}

func mustDecode(t *testing.T, doc []byte) map[string]any {
	t.Helper()
	value, ok := decode(doc)
	object, isObject := value.(map[string]any)
	if !ok || !isObject {
		t.Fatalf("not a JSON object: %s", doc)
	}
	return object
}
