package objects

import (
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/printers"

	"revtail/cmd/revtail/client"
)

// tablePrinter returns the printer of the rows of a resource.
func (p *printing) tablePrinter(r client.Resource, withKind, withNamespace bool) printers.ResourcePrinter {
	return printers.NewTablePrinter(printers.PrintOptions{
		NoHeaders: p.noHeaders, Wide: p.format == "wide", ShowLabels: p.showLabels, ColumnLabels: p.labelColumns,
		WithKind: p.showKind || withKind, WithNamespace: withNamespace && r.Namespaced,
		Kind: schema.GroupKind{Group: r.Group, Kind: r.Kind},
	})
}

// newTable returns rows as a Table.
func newTable(columns []metav1.TableColumnDefinition, objects []client.Object) (*metav1.Table, error) {
	table := &metav1.Table{ColumnDefinitions: columns}
	for _, o := range objects {
		row := *o.Row
		metadata := &metav1.PartialObjectMetadata{}
		if err := json.Unmarshal(row.Object.Raw, metadata); err != nil {
			return nil, fmt.Errorf("a row: %w", err)
		}
		row.Object = runtime.RawExtension{Object: metadata}
		table.Rows = append(table.Rows, row)
	}
	return table, nil
}

// newDocument returns an object as a document.
func (p *printing) newDocument(o client.Object) (*unstructured.Unstructured, error) {
	out := &unstructured.Unstructured{}
	if err := json.Unmarshal(o.JSON, &out.Object); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Name, err)
	}
	if !p.showManagedFields && (p.format == "json" || p.format == "yaml" || p.format == "kyaml") {
		unstructured.RemoveNestedField(out.Object, "metadata", "managedFields")
	}
	return out, nil
}

// newList returns objects as a List. revision is empty for a list of several requests.
func (p *printing) newList(objects []client.Object, revision string) (*unstructured.UnstructuredList, error) {
	out := &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": revision},
	}}
	for _, o := range objects {
		document, err := p.newDocument(o)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, *document)
	}
	return out, nil
}

// printDocument prints a document with the printer of --output.
func (p *printing) printDocument(w io.Writer, document runtime.Object) error {
	err := p.documents.PrintObj(document, w)
	if err != nil && examples[strings.TrimSuffix(p.format, "-file")] != "" {
		return fmt.Errorf("--output %s: %w", p.format, err)
	}
	return err
}

// newEvent returns an object as the object of an event.
func newEvent(kind string, object runtime.Object) *metav1.WatchEvent {
	return &metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Object: object}}
}
