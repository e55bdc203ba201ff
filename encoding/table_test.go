package encoding

import (
	"encoding/json"
	"math"
	"testing"
)

// TestTable compares lists and events that are tables with golden files, byte for byte.
func TestTable(t *testing.T) {
	remaining := int64(3)
	columns := []byte(`[{"name":"Name","type":"string","format":"name","description":"","priority":0}]`)
	object := AppendMetadata(nil, "meta.k8s.io/v1", []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"web"},"spec":{}}`))
	var lines []byte
	for _, table := range []struct {
		meta    ListMeta
		columns []byte
		rows    [][]byte
	}{
		{meta: ListMeta{APIVersion: "meta.k8s.io/v1", ResourceVersion: 12}, columns: columns},
		{ListMeta{APIVersion: "meta.k8s.io/v1beta1", ResourceVersion: 12, Continue: "c", RemainingItemCount: &remaining}, columns,
			[][]byte{AppendRow(nil, []any{"a<\"", int64(-3), 1.5, true, nil, json.Number("1e400")}, object), AppendRow(nil, []any{math.NaN()}, nil)}},
		{meta: ListMeta{APIVersion: "meta.k8s.io/v1"}},
	} {
		start := len(lines)
		lines = AppendTableHead(lines, table.meta, table.columns)
		for i, row := range table.rows {
			if i > 0 {
				lines = append(lines, ',')
			}
			lines = append(lines, row...)
		}
		if lines = AppendListTail(lines); !json.Valid(lines[start:]) {
			t.Errorf("not JSON: %s", lines[start:])
		}
	}
	golden(t, "tables", lines)
}

// TestMetadata checks that the metadata is copied unchanged from any position.
func TestMetadata(t *testing.T) {
	const head = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":`
	for doc, want := range map[string]string{
		`{"kind":"A","apiVersion":"v1","metadata":{"name":"a","n":1e9},"spec":{"metadata":{}}}`: `{"name":"a","n":1e9}`,
		`{"spec":{"metadata":{"name":"b"}},"metadata":{"name":"a"}}`:                            `{"name":"a"}`,
		`{"\u006detadata":{"name":"a"}}`:                                                        `{"name":"a"}`,
		`{"kind":"A"}`:                                                                          `{}`,
	} {
		if got := string(AppendMetadata(nil, "meta.k8s.io/v1", []byte(doc))); got != head+want+"}" {
			t.Errorf("of %s: %s", doc, got)
		}
	}
}
