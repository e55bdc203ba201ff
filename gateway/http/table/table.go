package table

import (
	"encoding/json"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/resource"
)

// Table makes the rows of one kind. One request at a time uses it.
type Table interface {
	// Len returns the number of columns.
	Len() int
	// Definitions returns the JSON of the columns, as a Table describes them.
	Definitions() []byte
	// Cells returns the cells of the row of an object.
	Cells(doc []byte, now time.Time) []any
}

// For returns the table of a resource: that of its mount, its printer or its definition, or the name and the age.
func For(res *resource.Resource) Table {
	switch {
	case res == resource.ScaleKind:
		return scaleColumns
	case res.Mount != nil:
		return mountColumns
	case res.Printer != nil:
		return printed{res.Printer, res.Printer.Columns()}
	case len(res.Columns) > 0:
		return definedColumns(res.Columns)
	case res.Group == apiextensionsv1.GroupName && res.Kind == "CustomResourceDefinition":
		return definitionColumns
	}
	return Columns{nameColumn, ageColumn}
}

func marshalDefinitions(definitions []metav1.TableColumnDefinition) []byte {
	text, err := json.Marshal(definitions)
	if err != nil {
		panic("table: columns hold nothing that JSON cannot say: " + err.Error())
	}
	return text
}
