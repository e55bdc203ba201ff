package table

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/encoding/jsontext"
	"revtail/gateway/resource"
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

// Columns are the columns of one kind, the name first. One request at a time uses them.
type Columns []column

// For returns the columns of a resource: those of its definition, those of its kind, or the name and the age.
func For(res *resource.Resource) Columns {
	if res.Mount != nil {
		return mountColumns
	}
	if len(res.Columns) > 0 {
		return definedColumns(res.Columns)
	}
	if own, ok := builtinColumns[schema.GroupKind{Group: res.Group, Kind: res.Kind}]; ok {
		return own
	}
	return Columns{nameColumn, ageColumn}
}

// Definitions returns the JSON of the columns, as a Table describes them.
func (cs Columns) Definitions() []byte {
	definitions := make([]metav1.TableColumnDefinition, len(cs))
	for i, c := range cs {
		definitions[i] = metav1.TableColumnDefinition{Name: c.name, Type: c.kind, Format: c.format, Description: c.description, Priority: c.priority}
	}
	text, err := json.Marshal(definitions)
	if err != nil {
		panic("table: columns hold nothing that JSON cannot say: " + err.Error())
	}
	return text
}

// Cells returns the cells of the row of an object.
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
	cell: func(o jsonValue, _ time.Time) any { return o.at("metadata", "name").text() },
}

var ageColumn = column{
	name: "Age", kind: "string", description: "How long ago the object was created.",
	cell: func(o jsonValue, now time.Time) any { return o.at("metadata", "creationTimestamp").age(now) },
}

// textColumn shows a string of the object, or a default.
func textColumn(name, description, otherwise string, path ...string) column {
	return column{name: name, kind: "string", description: description, cell: func(o jsonValue, _ time.Time) any {
		return o.at(path...).textOr(otherwise)
	}}
}

// countColumn shows an integer of the object, or zero.
func countColumn(name, description string, path ...string) column {
	return column{name: name, kind: "integer", description: description, cell: func(o jsonValue, _ time.Time) any {
		return o.at(path...).count(0)
	}}
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
