package objects

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tablePrinter prints a Table of the gateway as aligned columns.
type tablePrinter struct {
	wide       bool // also columns with a priority
	namespaces bool // the first column is the namespace
}

func (p tablePrinter) print(w io.Writer, table metav1.Table) error {
	out := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	var header []string
	if p.namespaces {
		header = append(header, "NAMESPACE")
	}
	for _, column := range table.ColumnDefinitions {
		if p.shows(column) {
			header = append(header, strings.ToUpper(column.Name))
		}
	}
	_, err := fmt.Fprintln(out, strings.Join(header, "\t"))
	for _, row := range table.Rows {
		cells, rowErr := p.cells(table.ColumnDefinitions, row)
		_, lineErr := fmt.Fprintln(out, strings.Join(cells, "\t"))
		err = errors.Join(err, rowErr, lineErr)
	}
	return errors.Join(err, out.Flush())
}

func (p tablePrinter) shows(column metav1.TableColumnDefinition) bool {
	return column.Priority == 0 || p.wide
}

func (p tablePrinter) cells(columns []metav1.TableColumnDefinition, row metav1.TableRow) ([]string, error) {
	var cells []string
	if p.namespaces {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(row.Object.Raw, &object); err != nil {
			return nil, err
		}
		cells = append(cells, object.Namespace)
	}
	for i, column := range columns {
		if i < len(row.Cells) && p.shows(column) {
			cells = append(cells, cellText(row.Cells[i]))
		}
	}
	return cells, nil
}

// cellText is the text of a cell. It replaces control characters, because they would move the cursor of a terminal.
func cellText(value any) string {
	if value == nil {
		return "<none>"
	}
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '�'
		}
		return c
	}, fmt.Sprint(value))
}
