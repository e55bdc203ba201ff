package table

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/encoding/jsontext"
	"revtail/gateway/resource"
)

// testPrinter prints objects without a spec. Its second column is the name.
type testPrinter struct{}

func (testPrinter) Columns() []resource.Column {
	return []resource.Column{{Name: "Count", Type: "integer"}, {Name: "Name", Type: "string", Format: "name", Description: "The name.", Priority: 1}}
}

func (testPrinter) Cells(document []byte) ([]any, error) {
	object, err := jsontext.Unmarshal(document)
	if err != nil {
		return nil, err
	}
	if spec := object["spec"]; spec == false {
		panic("has a false spec")
	} else if spec != nil {
		return nil, errors.New("has a spec")
	}
	return []any{int64(1), jsonValue{object}.name()}, nil
}

// TestPrinted checks the table of a kind with a printer.
func TestPrinted(t *testing.T) {
	table := For(&resource.Resource{Printer: testPrinter{}})
	const want = `[{"name":"Count","type":"integer","format":"","description":"","priority":0},` +
		`{"name":"Name","type":"string","format":"name","description":"The name.","priority":1}]`
	if got := string(table.Definitions()); got != want {
		t.Errorf("the columns are %s, want %s", got, want)
	}
	for doc, want := range map[string][]any{
		`{"metadata":{"name":"a"}}`:              {int64(1), "a"},
		`{"metadata":{"name":"a"},"spec":{}}`:    {nil, "a"}, // an object that the printer refuses
		`{"metadata":7,"spec":{}}`:               {nil, ""},
		`{"metadata":{"name":"a"},"spec":false}`: {nil, "a"}, // one on which the printer panics
		`7`:                                      {nil, ""},
	} {
		if got := table.Cells([]byte(doc), testNow); !cmp.Equal(got, want) {
			t.Errorf("%s: %v, want %v", doc, got, want)
		}
	}
}
