package changes

import (
	"slices"
	"testing"
)

func TestFields(t *testing.T) {
	for _, test := range []struct {
		name, before, after string
		want                []string
	}{
		{"equal", `{"a":1}`, `{"a":1}`, nil},
		{"created", ``, `{"spec":{"a":1},"kind":"A"}`, []string{"kind", "spec"}},
		{"changed", `{"spec":{"a":1,"b":2}}`, `{"spec":{"a":1,"b":3}}`, []string{"spec.b"}},
		{"added and removed", `{"spec":{"a":1}}`, `{"spec":{"b":1}}`, []string{"spec.a", "spec.b"}},
		{"null is not absent", `{"a":null}`, `{}`, []string{"a"}},
		{"large numbers", `{"a":9007199254740993}`, `{"a":9007199254740992}`, []string{"a"}},
		{"an item", `{"l":[{"a":1},{"a":2}]}`, `{"l":[{"a":1},{"a":3}]}`, []string{"l[1].a"}},
		{"a longer list", `{"l":[1]}`, `{"l":[1,2]}`, []string{"l"}},
		{"a quoted name", `{"metadata":{"annotations":{"a.b/c":"1"}}}`, `{"metadata":{"annotations":{"a.b/c":"2"}}}`, []string{`metadata.annotations["a.b/c"]`}},
		{"bookkeeping", `{"metadata":{"resourceVersion":"1","generation":1,"managedFields":[]}}`, `{"metadata":{"resourceVersion":"2","generation":2}}`, nil},
		{"another type", `{"a":{"b":1}}`, `{"a":[1]}`, []string{"a"}},
		{"no object", `[1]`, `{"a":1}`, []string{"a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Fields([]byte(test.before), []byte(test.after)); !slices.Equal(got, test.want) {
				t.Errorf("the fields are %q, want %q", got, test.want)
			}
		})
	}
}

func TestManagerOf(t *testing.T) {
	const (
		alice       = `{"manager":"alice","operation":"Apply","time":"2026-11-20T10:00:00Z","fieldsV1":{"f:a":{}}}`
		bob         = `{"manager":"bob","operation":"Update","subresource":"status","time":"2026-11-20T11:00:00Z","fieldsV1":{"f:b":{}}}`
		carol       = `{"manager":"carol","operation":"Update","fieldsV1":{"f:c":{}}}`
		dave        = `{"manager":"dave","operation":"Update","time":"2026-11-20T10:00:00Z","fieldsV1":{"f:d":{}}}`
		lessOfAlice = `{"manager":"alice","operation":"Apply","time":"2026-11-20T10:00:00Z","fieldsV1":{}}`
		object      = `{"metadata":{"managedFields":[`
	)
	for _, test := range []struct {
		name, before, after string
		want                Manager
	}{
		{"created", ``, object + alice + `]}}`, Manager{"alice", "Apply", ""}},
		{"another one", object + alice + `]}}`, object + alice + `,` + bob + `]}}`, Manager{"bob", "Update", "status"}},
		{"the last of two", ``, object + bob + `,` + alice + `]}}`, Manager{"bob", "Update", "status"}},
		{"within a second", object + alice + `,` + bob + `]}}`, object + alice + `,` + bob + `]}}`, Manager{"bob", "Update", "status"}},
		{"two within a second", object + alice + `,` + dave + `]}}`, object + alice + `,` + dave + `]}}`, Manager{}},
		{"without a time", object + alice + `]}}`, object + carol + `,` + alice + `]}}`, Manager{"carol", "Update", ""}},
		{"fields taken within a second", object + alice + `]}}`, object + dave + `,` + lessOfAlice + `]}}`, Manager{"dave", "Update", ""}},
		{"none", `{}`, `{}`, Manager{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := ManagerOf([]byte(test.before), []byte(test.after)); got != test.want {
				t.Errorf("the manager is %+v, want %+v", got, test.want)
			}
		})
	}
}
