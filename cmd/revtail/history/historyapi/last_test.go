package historyapi_test

import (
	"slices"
	"strings"
	"testing"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/history/historyapi"
)

// TestLast checks which state an undo writes, and that it refuses what is not known.
func TestLast(t *testing.T) {
	const (
		end     = `{"type":"END","oldest":2,"through":90}`
		added   = `{"type":"ADDED","revision":3,"name":"a","fields":["data"],"object":{"v":1}}` + "\n"
		spec    = `{"type":"MODIFIED","revision":5,"name":"a","fields":["data.v"],"object":{"v":2},"previous":{"v":1}}` + "\n"
		status  = `{"type":"MODIFIED","revision":7,"name":"a","fields":["status.ready"],"object":{"v":2,"status":{}},"previous":{"v":2}}` + "\n"
		deleted = `{"type":"DELETED","revision":8,"name":"a","fields":[],"object":{"v":2}}` + "\n"
		early   = `{"type":"GAP","after":3,"until":4}` + "\n"
		between = `{"type":"GAP","after":5,"until":6}` + "\n"
		late    = `{"type":"GAP","after":7,"until":9}` + "\n"
		omitted = `{"type":"MODIFIED","revision":5,"name":"a","fields":[],"omitted":true}` + "\n"
	)
	tests := []struct {
		name, lines string
		revision    int64
		want        string // of the object; empty: the change has created it
		err         string
	}{
		{"a change", added + spec, 5, `{"v":1}`, ""},
		{"a status is passed over", added + spec + status, 7, `{"v":1}`, ""},
		{"a deletion", added + spec + deleted, 0, `{"v":2}`, ""},
		{"a creation", added, 3, "", ""},
		{"a gap before the change", added + early + spec, 5, `{"v":1}`, ""},
		{"a gap before the status", added + spec + between + status, 7, "", "changes between revisions 5 and 6 are not known"},
		{"a gap with the last change", added + spec + late, 9, "", "changes between revisions 7 and 9 are not known"},
		{"a gap with the deletion", added + spec + late, 0, "", "changes between revisions 7 and 9 are not known"},
		{"the status alone", status, 7, "", "only its status has changed since revision 2"},
		{"no values", omitted, 5, "", "its values at revision 5 are not recorded"},
		{"no change", "", 1, "", "its last change, at revision 1, is not recorded: changes are recorded since revision 2"},
		{"no object", "", 0, "", "it does not exist, and no change of it is known"},
		{"a change that is not recorded yet", added, 99, "", "it is changing just now"},
		{"a change since the object was read", added + spec, 3, "", "it is changing just now"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			lines := slices.Collect(strings.Lines(test.lines))
			slices.Reverse(lines)
			c := gateway(t, map[string]string{"configmaps ": strings.Join(lines, "") + end})
			l, err := historyapi.ReadLast(t.Context(), c, historyapi.Query{Resource: client.Resource{Version: "v1", Plural: "configmaps"}, Name: "a"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := l.Before(test.revision)
			if string(got) != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s, %v, want %s, %s", got, err, test.want, test.err)
			}
		})
	}
}
