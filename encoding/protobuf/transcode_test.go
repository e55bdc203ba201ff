package protobuf_test

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kubernetesscheme "k8s.io/client-go/kubernetes/scheme"

	"revtail/encoding/protobuf"
)

// decoded are the kinds that have fields which no layout describes, such as floating-point numbers and maps of lists.
var decoded = []string{
	"CertificateSigningRequest", "LocalSubjectAccessReview", "SelfSubjectReview", "SubjectAccessReview", "TokenReview",
}

// unusual are values that JSON has instead of others.
var unusual = []any{
	nil, true, -5, int64(1) << 40, 1.5, "", "x", "é\u2028\"\\", "2026-11-21T10:00:00.5+01:00", "0001-01-01T00:00:00Z", "1e3", "YQ==", []any{}, []any{nil}, []any{"a", "b"},
	map[string]any{}, map[string]any{"b": "2", "a": "1"}, map[string]any{"a": nil},
}

// TestTranscoderIsTheGoType compares messages of random objects of all kinds, and of objects in which something is unusual or wrong, with those that are made by
// the Go type.
func TestTranscoderIsTheGoType(t *testing.T) {
	const objects = 100
	filler := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), serializer.NewCodecFactory(kubernetesscheme.Scheme))
	random := rand.New(rand.NewSource(2)) //nolint:gosec // the same values in each run
	transcoded, others := 0, 0
	for gvk, object := range served() {
		if gvk.Kind == "CustomResourceDefinition" {
			continue // contains itself, which the filler does not bound
		}
		kind := kindOf(t, gvk)
		for range objects {
			filler.Fill(object)
			document := documentOf(t, gvk, object)
			unknown := slices.Contains(decoded, gvk.Kind) || bytes.Contains(document, []byte(`:null`))
			if got := kind.Transcodes(document); got && slices.Contains(decoded, gvk.Kind) || !got && !unknown {
				t.Fatalf("%v: transcoded %t\n%s", gvk, got, document)
			}
			document = replaced(t, random, document)
			if kind.Transcodes(document) {
				transcoded++
			} else {
				others++
			}
			compareMessages(t, kind, document)
		}
	}
	if transcoded < 1000 || others < 1000 {
		t.Errorf("%d objects were transcoded, and %d others were not", transcoded, others)
	}
}

// compareMessages compares the message of a document with the one that is made by the Go type.
func compareMessages(t *testing.T, kind *protobuf.Kind, document []byte) {
	t.Helper()
	want, failed := kind.AppendDecoded(nil, document)
	got, err := kind.AppendObject(nil, document)
	switch {
	case failed != nil:
		if err == nil || err.Error() != failed.Error() {
			t.Fatalf("error %v, want %v, of %s", err, failed, document)
		}
	case err != nil || !bytes.Equal(got, want):
		t.Fatalf("%v\n%q, want\n%q, of %s", err, got, want, document)
	}
}

// replaced replaces a random member or element of a document.
func replaced(t *testing.T, random *rand.Rand, document []byte) []byte {
	t.Helper()
	var object any
	if err := json.Unmarshal(document, &object); err != nil {
		t.Fatal(err)
	}
	replace(random, object)
	text, err := json.Marshal(object)
	if err == nil && random.Intn(2) == 0 {
		text, err = json.MarshalIndent(object, "", "\t")
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func replace(random *rand.Rand, value any) {
	switch value := value.(type) {
	case map[string]any:
		names := slices.Sorted(func(yield func(string) bool) {
			for name := range value {
				if !yield(name) {
					return
				}
			}
		})
		if len(names) == 0 {
			return
		}
		name := names[random.Intn(len(names))]
		if random.Intn(3) == 0 {
			value[name] = unusual[random.Intn(len(unusual))]
			return
		}
		replace(random, value[name])
	case []any:
		if len(value) == 0 {
			return
		}
		i := random.Intn(len(value))
		if random.Intn(3) == 0 {
			value[i] = unusual[random.Intn(len(unusual))]
			return
		}
		replace(random, value[i])
	}
}

// TestTranscoderOfUnusualDocuments checks documents that no encoder writes, and that are decoded to the Go type.
func TestTranscoderOfUnusualDocuments(t *testing.T) {
	kind := protobuf.KindOf("v1", "ConfigMap")
	for document, transcoded := range map[string]bool{
		`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"b":"2","a":"1"}}`: true,
		` { "data" : { "a" : "\u00e9\n" } , "unknown" : [ { } ] } `:                               true,
		`{"binaryData":{"a":"YQ==","b":""},"immutable":false}`:                                    true,
		`{}`:                                  true,
		`{"data":null}`:                       true,
		`{"data":{"a":"1","a":"2"}}`:          false,
		`{"data":{"a":"1"},"data":{"b":"2"}}`: false,
		`{"data":{"a":"1"},"data":null}`:      false,
		`{"data":{"a":null}}`:                 false,
		`{"data":{"a":1}}`:                    false,
		`{"d\u0061ta":{"a":"1"}}`:             false,
		`{"binaryData":{"a":"%"}}`:            false,
		`{"kind":5}`:                          false,
		`{"metadata":{"generation":1e3}}`:     false,
		`{"metadata":{"generation":-9223372036854775808}}`: true,
		`{"metadata":{"generation":9223372036854775808}}`:  false,
		`{"metadata":{"creationTimestamp":"now"}}`:         false,
		`{"metadata":{"managedFields":[{"fieldsV1":[]}]}}`: false,
		`{"data":{}} x`: false,
		`{"data":`:      false,
		`[]`:            false,
		``:              false,
	} {
		if got := kind.Transcodes([]byte(document)); got != transcoded {
			t.Errorf("%s: transcoded %t", document, got)
		}
		compareMessages(t, kind, []byte(document))
	}
}

// FuzzTranscoder does the same with any document.
func FuzzTranscoder(f *testing.F) {
	for gvk, object := range served() {
		f.Add(gvk.GroupVersion().String(), gvk.Kind, documentOf(f, gvk, object))
	}
	f.Fuzz(func(t *testing.T, apiVersion, kind string, document []byte) {
		if known := protobuf.KindOf(apiVersion, kind); known != nil {
			compareMessages(t, known, document)
		}
	})
}

// BenchmarkAppendObject measures objects of about 1 KiB.
func BenchmarkAppendObject(b *testing.B) {
	metadata := `"metadata":{"name":"object-000001","namespace":"default","uid":"5ad16b2c-9d0a-4b44-8f0e-1d6ab6a0c1f7","resourceVersion":"4711",` +
		`"creationTimestamp":"2026-11-21T00:00:00Z","labels":{"app":"bench","target":"all"}}`
	for name, document := range map[string]string{
		"ConfigMap": `{"kind":"ConfigMap","apiVersion":"v1",` + metadata + `,"data":{"target":"all","value":"` + strings.Repeat("x", 740) + `","version":"1"}}`,
		"Pod": `{"kind":"Pod","apiVersion":"v1",` + metadata + `,"spec":{"containers":[{"name":"web","image":"nginx:1.25","ports":[{"containerPort":80,"protocol":"TCP"}],` +
			`"env":[{"name":"A","value":"1"}],"resources":{"limits":{"cpu":"1","memory":"1Gi"}},"terminationMessagePath":"/dev/termination-log","imagePullPolicy":"IfNotPresent"}],` +
			`"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler"},` +
			`"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-21T00:00:00Z"}],"podIP":"10.0.0.1","qosClass":"BestEffort"}}`,
	} {
		kind := protobuf.KindOf("v1", name)
		for _, way := range []struct {
			name   string
			append func(dst, document []byte) ([]byte, error)
		}{{"GoType", kind.AppendDecoded}, {"Transcoder", kind.AppendObject}} {
			b.Run(name+"/"+way.name, func(b *testing.B) {
				document, message := []byte(document), []byte(nil)
				b.ReportAllocs()
				for b.Loop() {
					var err error
					if message, err = way.append(message[:0], document); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
