package kinds

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/printers"
	printersinternal "k8s.io/kubernetes/pkg/printers/internalversion"

	"revtail/gateway/resource"
)

// printer is the resource.Printer of a kind.
type printer struct {
	*strategy
	table tableFunc
}

// tableFunc makes the table of an object of the internal type.
type tableFunc = func(object runtime.Object) (*metav1.Table, error)

// generator makes the tables of the kinds with columns of their own. It is made for the first Table, since it has hundreds of columns.
var generator = sync.OnceValue(func() *printers.HumanReadableGenerator {
	return printers.NewTableGenerator().With(printersinternal.AddHandlers)
})

// tables returns the function that makes the table of an object; plain: it has the name and the time of creation only.
func tables(plain bool) tableFunc {
	if plain {
		convertor := rest.NewDefaultTableConvertor(schema.GroupResource{}) // which is for errors
		return func(object runtime.Object) (*metav1.Table, error) {
			return convertor.ConvertToTable(genericrequest.NewContext(), object, nil)
		}
	}
	return func(object runtime.Object) (*metav1.Table, error) {
		return generator().GenerateTable(object, printers.GenerateOptions{Wide: true})
	}
}

// Columns implements resource.Printer.
func (p printer) Columns() []resource.Column {
	empty, err := legacyscheme.Scheme.New(schema.GroupVersionKind{Group: p.kind.Group, Version: runtime.APIVersionInternal, Kind: p.kind.Kind})
	var table *metav1.Table
	if err == nil {
		table, err = p.table(empty)
	}
	if err != nil {
		panic("kinds: " + err.Error()) // not reached: a test makes the table of each kind
	}
	columns := make([]resource.Column, len(table.ColumnDefinitions))
	for i, c := range table.ColumnDefinitions {
		columns[i] = resource.Column{Name: c.Name, Type: c.Type, Format: c.Format, Description: c.Description, Priority: c.Priority}
	}
	return columns
}

// Cells implements resource.Printer.
func (p printer) Cells(document []byte) ([]any, error) {
	internal, err := decodeDocument(document, p.kind)
	if err != nil {
		return nil, err
	}
	table, err := p.table(internal)
	if err != nil {
		return nil, err
	}
	return table.Rows[0].Cells, nil
}
