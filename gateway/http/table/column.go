package table

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding/jsontext"
)

// column is one column of a Table.
type column struct {
	name        string
	kind        string // of its cells: string, integer, number, boolean or date, which is an age
	format      string // "name" for the name of the object, which kubectl needs; else empty
	description string
	priority    int32 // zero: in every table; greater: in wide tables only

	// cell is the cell of an object: a string, an int64, a float64, a bool or nil. The fields of the object may be of any type.
	cell func(object jsonValue, now time.Time) any
}

// Columns are a Table whose columns are functions of the object, the name first.
type Columns []column

// Len implements Table.
func (cs Columns) Len() int { return len(cs) }

// Definitions implements Table.
func (cs Columns) Definitions() []byte {
	definitions := make([]metav1.TableColumnDefinition, len(cs))
	for i, c := range cs {
		definitions[i] = metav1.TableColumnDefinition{Name: c.name, Type: c.kind, Format: c.format, Description: c.description, Priority: c.priority}
	}
	return marshalDefinitions(definitions)
}

// Cells implements Table.
func (cs Columns) Cells(doc []byte, now time.Time) []any {
	decoded, err := jsontext.Unmarshal(doc)
	if err != nil { // not reached: documents are valid JSON
		decoded = nil
	}
	object, cells := jsonValue{decoded}, make([]any, len(cs))
	for i, c := range cs {
		cells[i] = c.cell(object, now)
	}
	return cells
}

var nameColumn = column{
	name: "Name", kind: "string", format: "name", description: "What the object is called, unique among its kind and within its namespace.",
	cell: func(o jsonValue, _ time.Time) any { return o.name() },
}

var ageColumn = column{
	name: "Age", kind: "date", description: "How long ago the object was created.",
	cell: func(o jsonValue, now time.Time) any { return o.at("metadata", "creationTimestamp").age(now) },
}

// stringColumn shows the result of a function of the object.
func stringColumn(name, description string, cell func(o jsonValue) string) column {
	return column{name: name, kind: "string", description: description, cell: func(o jsonValue, _ time.Time) any { return cell(o) }}
}

// wide returns a column as one of wide tables only.
func wide(c column) column {
	c.priority = 1
	return c
}
