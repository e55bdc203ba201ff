package keyrange

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
)

// FuzzParse checks that URLs of different keys are different ranges, that etcd gets the key of the path, and that a range is inside of a
// prefix exactly if all its keys begin with it.
func FuzzParse(f *testing.F) {
	f.Add("/app/a", "", "/app/")
	f.Add("/app/a/", "", "/app/a")
	f.Add("", "\xff/", "/")
	f.Add("", "a", "ab")
	f.Fuzz(func(t *testing.T, path, key, allowed string) {
		query := url.Values{}
		want := path
		if key != "" {
			query.Set("key64", base64.URLEncoding.EncodeToString([]byte(key)))
			want, path = key, ""
		}
		ranges, err := Parse(path, query)
		if err != nil {
			return
		}
		r := ranges[0]
		if want == "" {
			want = "/"
		}
		if r.String() != want || r.IsPrefix() != strings.HasSuffix(want, "/") {
			t.Errorf("%q became %q", want, r)
		}
		access, err := NewPolicy([]string{allowed}, nil, "/registry")
		if err != nil || allowed == "*" {
			return
		}
		let := access.Read(r) == nil
		within := want == allowed || strings.HasSuffix(allowed, "/") && strings.HasPrefix(want, allowed)
		if own := strings.HasPrefix(want, "revtail/"); let != (within && !own) {
			t.Errorf("with %q open, %q may be read: %v", allowed, want, let)
		}
		if access.Write(r) == nil {
			t.Errorf("%q may be written", want)
		}
	})
}

// TestParseTxnMembers checks that each member has one meaning for all readers.
func TestParseTxnMembers(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		{"repeated part", `{"then":[{"get":{"key":"/a"}}],"then":[]}`, `repeated field "then"`},
		{"repeated key", `{"then":[{"put":{"key":"/a","value":1,"key":"/b"}}]}`, `repeated field "key"`},
		{"repeated key, escaped", `{"then":[{"put":{"key":"/a","value":1,"k\u0065y":"/b"}}]}`, `repeated field "key"`},
		{"another case", `{"Then":[{"get":{"key":"/a"}}]}`, `unknown field "Then" (did you mean then?)`},
		{"another case below", `{"then":[{"get":{"key":"/a","KEY64":""}}]}`, `unknown field "KEY64"`},
		{"a letter that folds to k", `{"then":[{"get":{"\u212aey":"/a"}}]}`, `unknown field`},
		{"any JSON as a value", `{"then":[{"put":{"key":"/a","value":{"Then":1,"a":2,"a":3}}}]}`, ""},
	} {
		_, err := ParseTxn([]byte(test.body))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %s", test.name, err, test.want)
		}
	}
}

// FuzzParseTxn checks that any body is a transaction that names keys, or an error.
func FuzzParseTxn(f *testing.F) {
	f.Add([]byte(`{"compare":[{"key":"/a","is":">","version":1}],"then":[{"put":{"key64":"YQ","value":"x","ttl":"3s"}}],"else":[{"delete":{"key":"/","prefix":true}}]}`))
	f.Add([]byte(`{"then":[{"put":{"key":"/a","Key":"/b","value":{"a":1,"a":2},"value":null}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		txn, err := ParseTxn(body)
		if err == nil && txn.Check() != nil {
			t.Errorf("%s is accepted: %v", body, txn.Check())
		}
	})
}
