package redaction

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

const password = "correct horse battery"

// encoded is password as a Secret in JSON has it.
var encoded = base64.StdEncoding.EncodeToString([]byte(password))

func inProtobuf(t *testing.T, apiVersion, kindName string, raw []byte) string {
	t.Helper()
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kindName}, Raw: raw}
	out, err := envelope.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return "k8s\x00" + string(out)
}

func secretInProtobuf(t *testing.T) string {
	t.Helper()
	secret := corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{lastApplied: `{"data":{"password":"` + encoded + `"}}`, "other": "kept"}},
		Data:       map[string][]byte{"password": []byte(password)}, StringData: map[string]string{"text": password}, Type: "Opaque",
	}
	raw, err := secret.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return inProtobuf(t, "v1", "Secret", raw)
}

const secretInJSON = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","generation":12345678901234567890,` +
	`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"PLAIN","other":"kept"}},"type":"Opaque","data":{"password":"ENCODED"},"stringData":{"text":"PLAIN"}}`

func TestNoValueIsShown(t *testing.T) {
	fill := strings.NewReplacer("PLAIN", password, "ENCODED", encoded)
	for name, test := range map[string]struct{ key, value, want string }{
		"JSON":                           {"/registry/secrets/default/a", secretInJSON, `"other":"kept"`},
		"JSON elsewhere":                 {"/elsewhere/x", secretInJSON, "12345678901234567890"},
		"protobuf":                       {"/registry/secrets/default/a", secretInProtobuf(t), "kept"},
		"protobuf elsewhere":             {"/mine/secrets/default/a", secretInProtobuf(t), "kept"},
		"a wrong kind":                   {"/mine/secrets/default/a", `{"kind":"ConfigMap","data":{"password":"ENCODED"}}`, "ConfigMap"},
		"a wrong kind in protobuf":       {"/registry/secrets/default/a", strings.Replace(secretInProtobuf(t), "Secret", "Other!", 1), "kept"},
		"no kind":                        {"/registry/secrets/default/a", `{"data":{"password":"ENCODED"}}`, "password"},
		"another field":                  {"/registry/secrets/default/a", `{"kind":"Secret","Data":{"password":"ENCODED"},"data":["PLAIN"]}`, "redacted"},
		"a number":                       {"/registry/secrets/default/a", `{"kind":"Secret","data":{"password":["PLAIN"]},"stringData":{"x":{"y":"PLAIN"}}}`, "redacted"},
		"no base64":                      {"/registry/secrets/default/a", `{"kind":"Secret","data":{"password":"PLAIN"}}`, "password"},
		"no object":                      {"/registry/secrets/default/a", "PLAIN", "redacted"},
		"no object, other prefix":        {"/mine/secrets/default/a", "PLAIN", "redacted"},
		"what another program put":       {"/app/secrets/database", `{"password":"PLAIN"}`, "redacted"},
		"damaged protobuf":               {"/registry/secrets/default/a", "k8s\x00PLAIN", "redacted"},
		"protobuf with a damaged object": {"/registry/secrets/default/a", inProtobuf(t, "v1", "Secret", []byte(password)), "redacted"},
		"encrypted":                      {"/registry/secrets/default/a", "k8s:enc:aescbc:v1:key1:PLAIN", "k8s:enc:aescbc:v1:key1:redacted"},
		"encrypted by another prefix":    {"/registry/secrets/default/a", "k8s:enc:PLAIN", "redacted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory.New()
			if _, err := s.Create(t.Context(), test.key, []byte(fill.Replace(test.value))); err != nil {
				t.Fatal(err)
			}
			for path, value := range everyPath(t, New(Config{Store: s, Prefix: "/mine", Key: NewKey()}), test.key) {
				if bytes.Contains(value, []byte(password)) || bytes.Contains(value, []byte(encoded)) || !bytes.Contains(value, []byte(test.want)) {
					t.Errorf("%s shows %q, want %q in it", path, value, test.want)
				}
			}
		})
	}
}

// everyPath reads the value of a key in all ways.
func everyPath(t *testing.T, s *Store, key string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	kv, _, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	out["get"] = kv.Value
	page, err := s.List(t.Context(), key, etcdstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out["list"] = page.KVs[0].Value
	result, err := s.Transact(t.Context(), etcdstore.Txn{
		If:   []etcdstore.Condition{{Key: key, Of: etcdstore.OfValue, Is: etcdstore.Equal, Value: kv.Value}},
		Then: []etcdstore.Op{{Key: key}},
	})
	if err != nil || !result.Succeeded {
		t.Fatalf("a condition on the redacted value: %+v (%v)", result, err)
	}
	out["transaction"] = result.Results[0].KV.Value
	w := s.Watch(t.Context(), key, etcdstore.WatchOptions{After: 1, Previous: true})
	defer w.Close()
	batch, err := w.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out["watch"] = batch.Events[0].KV.Value
	return out
}

func TestPreviousStates(t *testing.T) {
	s := memory.New()
	rev, err := s.Create(t.Context(), "/registry/secrets/default/a", []byte(password))
	if err == nil {
		_, err = s.Update(t.Context(), "/registry/secrets/default/a", []byte("new"), rev)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := New(Config{Store: s, Prefix: "/registry", Key: NewKey()}).Watch(t.Context(), "/", etcdstore.WatchOptions{After: rev, Previous: true})
	defer w.Close()
	batch, err := w.Next(t.Context())
	if err != nil || bytes.Contains(batch.Events[0].Prev.Value, []byte(password)) {
		t.Errorf("%s (%v)", batch.Events[0].Prev.Value, err)
	}
	if kv, _, err := s.Get(t.Context(), "/registry/secrets/default/a"); err != nil || string(kv.Value) != "new" {
		t.Errorf("the store below has %s (%v)", kv.Value, err)
	}
}

func TestEqualValuesStayEqual(t *testing.T) {
	key := NewKey()
	r := redactor{prefix: "/registry", key: key}
	value := r.redact(etcdstore.KV{Key: "/registry/secrets/default/a", Value: []byte(`{"kind":"Secret","data":{"a":"` + encoded + `","c":"eA=="},"stringData":{"b":"` + password + `"}}`)}).Value
	var got struct {
		Data       map[string][]byte `json:"data"`
		StringData map[string]string `json:"stringData"`
	}
	if err := json.Unmarshal(value, &got); err != nil {
		t.Fatal(err)
	}
	want := key.Text([]byte(password))
	if string(got.Data["a"]) != want || got.StringData["b"] != want || string(got.Data["c"]) == want {
		t.Errorf("%s, want %s twice", value, want)
	}
	if NewKey().Text([]byte(password)) == want {
		t.Error("two keys give the same digest")
	}
	if !strings.HasPrefix(want, "redacted: 21 bytes, digest ") {
		t.Error(want)
	}
}

func TestOtherValuesStay(t *testing.T) {
	for key, value := range map[string]string{
		"/registry/configmaps/secrets/a":                `{"kind":"ConfigMap","data":{"a":"b"}}`,
		"/registry/configmaps/default/a":                `{"kind":"ConfigMap","data":{"a":"a Secret"}}`,
		"/registry/configmaps/default/b":                "a Secret, and no JSON",
		"/registry/example.com/secretstores/a":          `{"kind":"SecretStore"}`,
		"/registry/pods/default/a":                      inProtobuf(t, "v1", "Pod", []byte("Secret")),
		"/registry/serviceaccounts/secrets/default/x/y": `{"kind":"ServiceAccount"}`,
	} {
		r := redactor{prefix: "/registry", key: NewKey()}
		if got := string(r.redact(etcdstore.KV{Key: key, Value: []byte(value)}).Value); got != value {
			t.Errorf("%s: %s, want %s", key, got, value)
		}
	}
}

// TestConditionsSeeNoValue checks that the conditions of a transaction do not reveal a value.
func TestConditionsSeeNoValue(t *testing.T) {
	s := memory.New()
	if _, err := s.Create(t.Context(), "/registry/secrets/default/a", []byte(password)); err != nil {
		t.Fatal(err)
	}
	result, err := New(Config{Store: s, Prefix: "/registry", Key: NewKey()}).Transact(t.Context(), etcdstore.Txn{
		If: []etcdstore.Condition{{Key: "/registry/secrets/default/a", Of: etcdstore.OfValue, Is: etcdstore.Equal, Value: []byte(password)}},
	})
	if err != nil || result.Succeeded {
		t.Errorf("%+v (%v)", result, err)
	}
}

func TestWritesAreRefused(t *testing.T) {
	s := New(Config{Store: memory.New(), Prefix: "/registry", Key: NewKey()})
	_, created := s.Create(t.Context(), "/a", nil)
	_, guarded := s.CreateGuarded(t.Context(), "/a", nil, etcdstore.Guard{Key: "/b", Modified: 1})
	_, updated := s.Update(t.Context(), "/a", nil, 1)
	_, deleted := s.Delete(t.Context(), "/a", 0)
	_, done := s.Transact(t.Context(), etcdstore.Txn{Then: []etcdstore.Op{{Verb: etcdstore.Put, Key: "/a"}}})
	_, _, granted := s.Grant(t.Context(), 1)
	for what, err := range map[string]error{"create": created, "guarded": guarded, "update": updated, "delete": deleted, "transact": done, "grant": granted, "revoke": s.Revoke(t.Context(), 1)} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v, want ErrReadOnly", what, err)
		}
	}
}
