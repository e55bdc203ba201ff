package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRestored(t *testing.T) {
	const job = `{"kind":"Job","metadata":{"name":"j","uid":"1","labels":{"app":"web","controller-uid":"1"},"ownerReferences":[{"kind":"CronJob","name":"c","uid":"2"}]},` +
		`"spec":{"selector":{},"template":{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":"1"}}}},"status":{}}`
	tests := []struct{ name, old, live, want, owners string }{
		{"server fields", `{"metadata":{"name":"a","uid":"1","resourceVersion":"2","generation":1,"managedFields":[],"creationTimestamp":"x","finalizers":["f"]},"n":9007199254740993}`, "",
			`{"metadata":{"finalizers":["f"],"name":"a"},"n":9007199254740993}`, ""},
		{"a Job that does not exist", job, "",
			`{"kind":"Job","metadata":{"labels":{"app":"web"},"name":"j"},"spec":{"template":{"metadata":{"labels":{}}}},"status":{}}`, "CronJob c"},
		{"a Job that exists", job, `{"metadata":{"uid":"3","resourceVersion":"9","ownerReferences":[{"uid":"4"}]}}`,
			`{"kind":"Job","metadata":{"labels":{"app":"web","controller-uid":"1"},"name":"j","ownerReferences":[{"uid":"4"}],"resourceVersion":"9","uid":"3"},` +
				`"spec":{"selector":{},"template":{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":"1"}}}},"status":{}}`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var live json.RawMessage
			if test.live != "" {
				live = json.RawMessage(test.live)
			}
			manifest, owners, err := Restored(json.RawMessage(test.old), live)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(manifest)
			if diff := cmp.Diff([]string{test.want, test.owners}, []string{string(got), strings.Join(owners, ",")}); diff != "" || err != nil {
				t.Errorf("(-want +got)\n%s\n%v", diff, err)
			}
		})
	}
	if _, _, err := Restored(json.RawMessage(job), json.RawMessage(`{"metadata":{"deletionTimestamp":"x"}}`)); err == nil {
		t.Error("an object that is being deleted is replaced")
	}
}
