package jsontext

import (
	"encoding/json"
	"strings"
	"testing"
)

// texts are JSON and almost JSON. They seed the fuzz tests too.
var texts = []string{
	`{}`, `[]`, `""`, `0`, `-0`, `1.5e+3`, `true`, `false`, `null`, ``, ` `, `{`, `[`, `"`, `-`, `+1`, `01`, `1.`, `.5`, `1e`, `1e+`,
	`[1,]`, `[,1]`, `{"a":1,}`, `{"a"}`, `{a:1}`, `{"a":{}`, `{"a":[}`, `[1 2]`, `{} {}`, `tru`, `nulll`, "\x00", "{}\x00",
	`"\u00e9"`, `"\ud800"`, `"\u12"`, `"\x"`, `"\`, "\"\n\"", "\"\x7f\"", "\"\xff\"", "\"é\u2028\"", "\ufeff{}", " {\n\t\"a\" : [ 1 , 2 ]\r\n} ",
	`{"a":{"b":{"c":[{"d":null}]}},"a":{"b":2}}`, `{"meta\u0064ata":{"name":"x"}}`, `9223372036854775808`, `1e400`,
	`1.7976931348623157e308`, `-1.7976931348623159e308`, `1e-400`, "1" + strings.Repeat("0", 308), "-1" + strings.Repeat("0", 309), "0." + strings.Repeat("1", 400),
}

// TestScanner checks that the scanner accepts exactly the texts that are UTF-8 and that encoding/json can decode.
func TestScanner(t *testing.T) {
	for _, text := range texts {
		checkScanner(t, text)
	}
}

// TestDepth checks that encoding/json can read an accepted text inside of a response, and that deeper texts are refused.
func TestDepth(t *testing.T) {
	for depth, want := range map[int]bool{MaxDepth: true, MaxDepth + 1: false} {
		for _, text := range []string{strings.Repeat("[", depth) + strings.Repeat("]", depth), strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)} {
			s := NewScanner([]byte(text))
			if got := s.Skip() && s.End(); got != want {
				t.Errorf("%.20q, %d levels: valid = %t, want %t", text, depth, got, want)
			}
			if table := `{"rows":[{"object":` + text + `}]}`; want && !json.Valid([]byte(table)) {
				t.Errorf("%.20q, %d levels, makes a Table unreadable", text, depth)
			}
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(checkScanner)
}

func checkScanner(t *testing.T, text string) {
	t.Helper()
	_, want := decode([]byte(text))
	s := NewScanner([]byte(text))
	if got := s.Skip() && s.End(); got != want {
		t.Errorf("%.60q: valid = %t, encoding/json says %t", text, got, want)
	}
	s = NewScanner([]byte(text))
	if _, got := s.parse(); got && s.End() != want {
		t.Errorf("%.60q: decoded = %t, encoding/json says %t", text, got, want)
	}
}
