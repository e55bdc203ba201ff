package table

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding/jsontext"
	"revtail/gateway/resource"
)

// printed is the table of a kind with a printer.
type printed struct {
	printer resource.Printer
	columns []resource.Column
}

// Len implements Table.
func (p printed) Len() int { return len(p.columns) }

// Definitions implements Table.
func (p printed) Definitions() []byte {
	definitions := make([]metav1.TableColumnDefinition, len(p.columns))
	for i, c := range p.columns {
		definitions[i] = metav1.TableColumnDefinition{Name: c.Name, Type: c.Type, Format: c.Format, Description: c.Description, Priority: c.Priority}
	}
	return marshalDefinitions(definitions)
}

// Cells implements Table. The row of an object that another program stored, and that is none of the kind, has only its name.
func (p printed) Cells(doc []byte, _ time.Time) []any {
	if cells, ok := p.print(doc); ok {
		return cells
	}
	decoded, _ := jsontext.Unmarshal(doc) // nil: no object
	cells := make([]any, len(p.columns))
	name := slices.IndexFunc(p.columns, func(c resource.Column) bool { return c.Format == "name" })
	cells[max(name, 0)] = jsonValue{decoded}.name()
	return cells
}

// print returns the cells of an object; false: it is none of the kind. Printers of Kubernetes panic if a field is missing that its
// validation requires.
func (p printed) print(doc []byte) (cells []any, ok bool) {
	defer func() {
		if recover() != nil {
			cells, ok = nil, false
		}
	}()
	cells, err := p.printer.Cells(doc)
	return cells, err == nil
}
