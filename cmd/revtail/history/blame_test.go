package history

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/history/historyapi"
)

func changed(revision int64, manager, previous, object string) historyapi.Entry {
	e := historyapi.Entry{Type: "MODIFIED", Revision: revision, Manager: manager, Object: json.RawMessage(object)}
	if previous == "" {
		e.Type = "ADDED"
		return e
	}
	e.Previous = json.RawMessage(previous)
	return e
}

// TestBlame checks which change each line of an object has.
func TestBlame(t *testing.T) {
	tests := []struct {
		name    string
		changes []historyapi.Entry
		live    string // an unseen state at revision 90; empty: none
		want    string
	}{
		{"leaves keep their change", []historyapi.Entry{
			changed(4, "a", "", `{"data":{"x":"1","y":"1"},"empty":{}}`),
			changed(5, "b", `{"data":{"x":"1","y":"1"},"empty":{}}`, `{"data":{"x":"1","y":"2","text":"one\ntwo\n"},"empty":{}}`),
		}, "", `
			|data:
			5 b|  text: |
			|    one
			|    two
			4 a|  x: "1"
			5 b|  "y": "2"
			4 a|empty: {}`},
		{"before the history", []historyapi.Entry{changed(5, "b", `{"x":1,"y":1}`, `{"x":1,"y":2}`)}, "", `
			before 3|x: 1
			5 b|"y": 2`},
		{"lists by name and by position", []historyapi.Entry{
			changed(4, "a", "", `{"c":[{"name":"m","v":1}],"l":["p","q"]}`),
			changed(5, "b", `{"c":[{"name":"m","v":1}],"l":["p","q"]}`, `{"c":[{"name":"n","v":1},{"name":"m","v":1}],"l":["o","p","q"]}`),
		}, "", `
			|c:
			5 b|- name: "n"
			5 b|  v: 1
			4 a|- name: m
			4 a|  v: 1
			|l:
			5 b|- o
			4 a|- p
			4 a|- q`},
		{"over a gap", []historyapi.Entry{
			changed(4, "a", "", `{"x":1,"y":1,"z":1}`),
			{Type: "GAP", After: 10, Until: 20},
			changed(25, "b", `{"x":2,"y":1,"z":1}`, `{"x":2,"y":3,"z":1}`),
		}, "", `
			between 10 and 20|x: 2
			25 b|"y": 3
			4 a|z: 1`},
		{"a last change in a gap", []historyapi.Entry{changed(4, "a", "", `{"x":1,"y":1}`), {Type: "GAP", After: 10, Until: 100}}, `{"x":1,"y":9}`, `
			4 a|x: 1
			between 10 and 90|"y": 9`},
		{"created in a gap", []historyapi.Entry{
			changed(4, "a", "", `{"x":1}`), {Type: "DELETED", Revision: 5, Object: json.RawMessage(`{"x":1}`)}, {Type: "GAP", After: 10, Until: 20},
			changed(25, "b", `{"x":1,"z":1}`, `{"x":1,"z":2}`),
		}, "", `
			between 10 and 20|x: 1
			25 b|z: 2`},
		{"a gap before the first change", []historyapi.Entry{{Type: "GAP", After: 10, Until: 20}, changed(25, "b", `{"x":1,"z":1}`, `{"x":1,"z":2}`)}, "", `
			before 20|x: 1
			25 b|z: 2`},
		{"created again", []historyapi.Entry{
			changed(4, "a", "", `{"x":1}`), {Type: "DELETED", Revision: 5, Object: json.RawMessage(`{"x":1}`)}, changed(6, "b", "", `{"x":1}`),
		}, "", `
			6 b|x: 1`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := &blamer{before: &origin{until: 3}}
			for _, e := range test.changes {
				if err := b.add(e); err != nil {
					t.Fatal(err)
				}
			}
			if test.live != "" {
				if err := b.unseen([]byte(test.live), 90); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			if err := b.print(&out); err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.Lines(out.String()) {
				when, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "| ")
				got = append(got, strings.Join(strings.Fields(strings.ReplaceAll(when, unknown, "")), " ")+"|"+text)
			}
			if diff := cmp.Diff(strings.ReplaceAll(test.want, "\n\t\t\t", "\n"), "\n"+strings.Join(got, "\n")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestShorten(t *testing.T) {
	fields := []string{"data.a", "data.b", "data.c"}
	for width, want := range map[int]string{0: "data.a, data.b, data.c", 22: "data.a, data.b, data.c", 21: "data.a, data.b +1", 12: "data.a +2", 8: "data… +2"} {
		if got := shorten(fields, width); got != want {
			t.Errorf("in %d columns: %q, want %q", width, got, want)
		}
	}
	if got := shorten([]string{"metadata.annotations"}, 10); got != "metadata.…" {
		t.Errorf("one field: %q", got)
	}
}

// TestRedaction checks that no value of a Secret is printed, unless that is asked for.
func TestRedaction(t *testing.T) {
	secret := historyapi.Entry{
		Type: "MODIFIED", Revision: 7, Name: "s",
		Object:   json.RawMessage(`{"kind":"Secret","apiVersion":"v1","data":{"p":"bmV3"}}`),
		Previous: json.RawMessage(`{"kind":"Secret","apiVersion":"v1","data":{"p":"b2xk"}}`),
	}
	secret.Line = []byte(`{"type":"MODIFIED","object":` + string(secret.Object) + `,"previous":` + string(secret.Previous) + `}`)
	for _, o := range []output{{format: "table", patch: true}, {format: "json"}} {
		for _, redact := range []string{redactSecrets, redactNone} {
			var out bytes.Buffer
			p := &printer{session: &session{redact: redact}, output: o, out: &out, width: 80}
			if err := p.entry(client.Resource{Version: "v1", Plural: "secrets", Kind: "Secret"}, secret); err != nil {
				t.Fatal(err)
			}
			text := out.String()
			if shown := strings.Contains(text, "bmV3") || strings.Contains(text, "b2xk"); shown != (redact == redactNone) {
				t.Errorf("-o %s --redact %s prints\n%s", o.format, redact, text)
			}
			if o.format == "json" && !json.Valid([]byte(text)) {
				t.Errorf("this is no JSON:\n%s", text)
			}
		}
	}
}
