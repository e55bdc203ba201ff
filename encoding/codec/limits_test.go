package codec

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"revtail/encoding/jsontext"
)

// managed returns an object with managedFields.
func managed(fields string) string {
	return `{"metadata":{"name":"a","managedFields":` + fields + `},"b":1}`
}

// TestManagedFieldsHaveTheirOwnLimits checks that they count neither for the tokens nor for the depth of a body.
func TestManagedFieldsHaveTheirOwnLimits(t *testing.T) {
	list := func(n int) string { return `[` + strings.TrimSuffix(strings.Repeat("1,", n), ",") + `]` }
	for _, test := range []struct {
		name, body string
		limited    bool
	}{
		{"many", managed(list(400_000)), false},
		{"too many", managed(list(500_000)), true},
		{"too many in two members", `{"metadata":{"managedFields":` + list(300_000) + `,"managedFields":` + list(300_000) + `}}`, true},
		{"deep", managed(strings.Repeat("[", 100) + strings.Repeat("]", 100)), false},
		{"too deep", managed(strings.Repeat("[", 200) + strings.Repeat("]", 200)), true},
		{"in another place", `{"spec":{"managedFields":` + list(100_000) + `}}`, true},
		{"below metadata", `{"metadata":{"a":{"managedFields":` + list(100_000) + `}}}`, true},
		{"not in metadata of the body", `{"a":{"metadata":{"managedFields":` + list(100_000) + `}}}`, true},
		{"and the others count", `{"metadata":{"managedFields":[1]},"a":` + list(100_000) + `}`, true},
	} {
		err := Check([]byte(test.body))
		if _, limited := errors.AsType[*LimitError](err); limited != test.limited {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestTokens checks that Tokens counts as Check does.
func TestTokens(t *testing.T) {
	for _, body := range []string{`{}`, `{"a":[1,{"b":null}],"c":{"d":"e"}}`, managed(`[{"a":1}]`), `{"metadata":5}`} {
		m := meter{Scanner: jsontext.NewScanner([]byte(body)), body: true, maxDepth: MaxDepth, maxTokens: MaxTokens}
		m.value()
		decoded, err := Decode("", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Tokens(decoded.Object); err != nil || got > m.tokens || got < m.tokens-1 {
			t.Errorf("%s: %d tokens, error %v; Check counts %d", body, got, err, m.tokens)
		}
	}
	deep := map[string]any{}
	for range MaxDepth {
		deep = map[string]any{"a": deep}
	}
	if _, err := Tokens(deep); err == nil {
		t.Error("65 levels are accepted")
	}
}

// TestDuplicatesBelowALongName checks that the name is not copied for each of them.
func TestDuplicatesBelowALongName(t *testing.T) {
	body := `{"` + strings.Repeat("n", 1<<20) + `":{` + strings.TrimSuffix(strings.Repeat(`"a":1,`, 10_000), ",") + `}}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	decoded, err := Decode("", []byte(body))
	runtime.ReadMemStats(&after)
	if err != nil || len(decoded.Duplicates) != 1 {
		t.Errorf("%d duplicates, error %v", len(decoded.Duplicates), err)
	}
	if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 100 {
		t.Errorf("%d MiB allocated", allocated)
	}
}
