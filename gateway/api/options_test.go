package api

import (
	"net/http"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"revtail/encoding/codec"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// FuzzDeleteOptions checks that a body has the options that the JSON library of kube-apiserver reads from it: a precondition that one of
// the two does not see deletes another object than was meant.
func FuzzDeleteOptions(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"propagationPolicy":"Foreground","dryRun":["All"]}`, `{}`, `null`, `[]`,
		`{"preconditions":{"uid":"a","resourceVersion":"5"}}`, `{"Preconditions":{"uid":"a"},"DRYRUN":["All"]}`, `{"preconditions":{"UID":"a"}}`,
		`{"kind":"Status"}`, `{"orphanDependents":"yes"}`, `{"gracePeriodSeconds":1e3}`, `{"gracePeriodSeconds":9223372036854775808}`, `{"kind":null}`,
	} {
		f.Add([]byte(seed))
	}
	res := resource.Builtin()[0]
	f.Fuzz(func(t *testing.T, body []byte) {
		got, want := new(metav1.DeleteOptions), new(metav1.DeleteOptions)
		if err := decodeDeleteOptions(codec.JSON, body, res, got); err != nil {
			if code := status.Of(err).Code; code != http.StatusBadRequest {
				t.Errorf("%s: %d %v", body, code, err)
			}
			return
		}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(body, want); err != nil {
			return // a whole number as 1e3
		}
		if got.TypeMeta, want.TypeMeta = (metav1.TypeMeta{}), (metav1.TypeMeta{}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s has the options %+v, want %+v", body, got, want)
		}
	})
}
