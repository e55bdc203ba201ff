package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSecrets checks that the differences of a Secret have no values.
func TestSecrets(t *testing.T) {
	const head = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","resourceVersion":`
	tests := []struct {
		name, before, after string
		want                []string
	}{
		{"created", "", head + `"1"},"data":{"a":"eA=="}}`, []string{`+data.a: "*** (after)"`}},
		{"the same", head + `"1"},"data":{"a":"eA=="}}`, head + `"2"},"data":{"a":"eA=="}}`, nil},
		{"changed", head + `"1"},"data":{"a":"eA==","b":"eA=="}}`, head + `"2"},"data":{"a":"eQ==","b":"eA=="},"stringData":{"c":"x"}}`,
			[]string{`-data.a: "*** (before)"`, `+data.a: "*** (after)"`, `+stringData.c: "*** (after)"`}},
		{"removed", head + `"1"},"data":{"a":"eA=="}}`, head + `"2"},"data":null}`, []string{`-data.a: "*** (before)"`, `+data: null`}},
		{"another kind", `{"kind":"ConfigMap","data":{"a":"x"}}`, `{"kind":"ConfigMap","data":{"a":"y"}}`, []string{`-data.a: "x"`, `+data.a: "y"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var before []byte
			if test.before != "" {
				before = []byte(test.before)
			}
			lines, err := Objects(before, []byte(test.after))
			var got []string
			for _, line := range lines {
				got = append(got, string(line.Op)+line.Text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("(-want +got)\n%s\n%v", diff, err)
			}
		})
	}
}
