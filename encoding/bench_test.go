package encoding

import (
	"strings"
	"testing"

	"revtail/encoding/jsontext"
)

// benchmarkValue is a stored ConfigMap of about one KiB.
func benchmarkValue(b *testing.B, labels map[string]any) []byte {
	b.Helper()
	metadata := map[string]any{"name": "coredns", "namespace": "kube-system", "uid": "5a1f7a3e-8a55-4b4e-9a3c-3a6f2e1b7c10"}
	if labels != nil {
		metadata["labels"] = labels
	}
	value, err := Marshal(map[string]any{
		"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata,
		"data": map[string]any{"Corefile": strings.Repeat(".:53 {\n    errors\n    cache 30\n}\n", 24)},
	})
	if err != nil {
		b.Fatal(err)
	}
	return value
}

var benchmarkID = Identity{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "coredns"}

func BenchmarkNormalize(b *testing.B) {
	plain := benchmarkValue(b, nil)
	for _, bench := range []struct {
		name  string
		value []byte
	}{
		{"stored", plain},
		{"stored with labels", benchmarkValue(b, map[string]any{"app": "dns", "tier": "system"})},
		{"foreign", append([]byte{' '}, plain...)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bench.value)))
			for b.Loop() {
				if _, err := Normalize(bench.value, benchmarkID, 1234567); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	value := benchmarkValue(b, map[string]any{"app": "dns", "tier": "system"})
	b.ReportAllocs()
	b.SetBytes(int64(len(value)))
	for b.Loop() {
		if _, err := jsontext.Unmarshal(value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSetResourceVersion(b *testing.B) {
	object, err := Normalize(benchmarkValue(b, nil), benchmarkID, 41)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := SetResourceVersion(object.JSON, 1234567); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	object, err := Normalize(benchmarkValue(b, nil), benchmarkID, 41)
	if err != nil {
		b.Fatal(err)
	}
	path := []string{"metadata", "name"}
	b.ReportAllocs()
	for b.Loop() {
		if _, found := jsontext.Lookup(object.JSON, path); !found {
			b.Fatal("not found")
		}
	}
}

func BenchmarkAppendEvent(b *testing.B) {
	object, err := Normalize(benchmarkValue(b, nil), benchmarkID, 41)
	if err != nil {
		b.Fatal(err)
	}
	frame := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		frame = AppendEvent(frame[:0], Modified, object.JSON)
	}
}

func BenchmarkMarshal(b *testing.B) {
	object, err := jsontext.Unmarshal(benchmarkValue(b, map[string]any{"app": "dns"}))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Marshal(object); err != nil {
			b.Fatal(err)
		}
	}
}
