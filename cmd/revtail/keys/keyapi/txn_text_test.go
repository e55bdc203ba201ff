package keyapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseText(t *testing.T) {
	for _, test := range []struct{ name, text, want, err string }{
		{"all parts", "mod(\"/a\") = \"7\"\nvalue(/b c) != \"x\\ny\"\n\nput /a \"1 2\"\nget /b\n\ndel --prefix /c/\n",
			`{"compare":[{"key":"/a","is":"=","modRevision":7},{"key":"/b c","is":"!=","value":"x\ny","encoding":"utf8"}],` +
				`"then":[{"put":{"key":"/a","value":"1 2","encoding":"utf8"}},{"get":{"key":"/b"}}],"else":[{"delete":{"key":"/c/","prefix":true}}]}`, ""},
		{"no comparisons", "\nput /a 1\n\n", `{"then":[{"put":{"key":"/a","value":"1","encoding":"utf8"}}]}`, ""},
		{"no operations", "ver(\"a\") > \"0\"\n", `{"compare":[{"key":"a","is":"\u003e","version":0}]}`, ""},
		{"bytes", "create(\"\\xff\") < \"9\"\n\nput \"\\x00\\xff\" \"\\xff\"",
			`{"compare":[{"key64":"/w==","is":"\u003c","createRevision":9}],"then":[{"put":{"key64":"AP8=","value":"/w==","encoding":"base64"}}]}`, ""},
		{"another word", `lease("a") = "1"`, "", `line 1: lease: want mod, create, version or value`},
		{"no number", `mod("a") = "x"`, "", `line 1: mod("a") is compared with "x": want a number, as "7"`},
		{"no operation", "\nput /a", "", `line 2: "put /a": want get KEY, put KEY VALUE`},
		{"a broken string", "\nput /a \"x", "", `line 2: "put /a \"x": want get KEY`},
		{"four parts", "\n\n\nget a", "", `line 4: "get a" follows a third empty line`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseText(test.text)
			if test.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), test.err) {
					t.Errorf("error %v, want %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(got)
			if diff := cmp.Diff(test.want, string(text)); diff != "" || err != nil {
				t.Errorf("(-want +got)\n%s\n%v", diff, err)
			}
		})
	}
}

// FuzzParseText checks that each comparison and operation of a text that is accepted is complete, and that each line is one of them.
func FuzzParseText(f *testing.F) {
	f.Add("mod(\"/a\") = \"7\"\n\nput /a \"1\"\n\ndel --prefix /c/")
	f.Add("value(a) != x\n\nget \"\\xff\"")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseText(text)
		if err != nil {
			return
		}
		lines := 0
		for line := range strings.SplitSeq(text, "\n") {
			if strings.TrimSpace(line) != "" {
				lines++
			}
		}
		if n := len(got.Compare) + len(got.Then) + len(got.Else); n != lines {
			t.Errorf("%d lines have %d comparisons and operations", lines, n)
		}
		for _, op := range append(got.Then, got.Else...) {
			if (op.Get == nil) == (op.Put == nil) && (op.Put == nil) == (op.Delete == nil) {
				t.Errorf("%q has an operation that is not one", text)
			}
		}
	})
}
