package objects

import (
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/util/jsonpath"
)

// flushWriter is a tab writer, which aligns columns.
type flushWriter interface {
	io.Writer
	Flush() error
}

// columnsPrinter prints the columns of -o custom-columns.
type columnsPrinter struct {
	headers   []string
	paths     []*jsonpath.JSONPath
	noHeaders bool

	printed bool // the headers
}

// newColumnsPrinter reads HEADER:PATH,HEADER:PATH.
func newColumnsPrinter(text string, p *printing) (printers.ResourcePrinter, error) {
	out := &columnsPrinter{noHeaders: p.noHeaders}
	for column := range strings.SplitSeq(text, ",") {
		header, path, ok := strings.Cut(column, ":")
		if !ok {
			return nil, fmt.Errorf("column %q: want HEADER:PATH", column)
		}
		if err := out.add(header, path); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// newColumnsFilePrinter reads a file of two lines: headers, and below them paths.
func newColumnsFilePrinter(text string, p *printing) (printers.ResourcePrinter, error) {
	out := &columnsPrinter{noHeaders: p.noHeaders}
	lines := strings.SplitN(text, "\n", 3)
	if len(lines) < 2 || strings.TrimSpace(lines[1]) == "" {
		return nil, errors.New("want two lines: the headers, and below them the paths")
	}
	headers, paths := strings.Fields(lines[0]), strings.Fields(lines[1])
	if len(headers) != len(paths) {
		return nil, fmt.Errorf("the first line has %d headers and the second one %d paths: want as many", len(headers), len(paths))
	}
	for i, header := range headers {
		if err := out.add(header, paths[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *columnsPrinter) add(header, path string) error {
	parsed, err := parsePath(path)
	p.headers, p.paths = append(p.headers, header), append(p.paths, parsed)
	return err
}

// parsePath reads a JSONPath with or without braces and its first dot, as kubectl does.
func parsePath(text string) (*jsonpath.JSONPath, error) {
	path := text
	if inner, ok := strings.CutPrefix(path, "{"); ok {
		path, ok = strings.CutSuffix(inner, "}")
		if !ok {
			path = ""
		}
	}
	path = strings.TrimPrefix(path, ".")
	if path == "" || strings.ContainsAny(path, "{}") {
		return nil, fmt.Errorf("path %q: want the path of a field, as .metadata.name", text)
	}
	out := jsonpath.New("path").AllowMissingKeys(true)
	if err := out.Parse("{." + path + "}"); err != nil {
		return nil, fmt.Errorf("path %q: %w", text, err)
	}
	return out, nil
}

// PrintObj is that of printers.ResourcePrinter.
func (p *columnsPrinter) PrintObj(object runtime.Object, w io.Writer) error {
	if _, aligned := w.(flushWriter); !aligned {
		columns := printers.GetNewTabWriter(w)
		defer func() { _ = columns.Flush() }()
		w = columns
	}
	if !p.noHeaders && !p.printed {
		if _, err := fmt.Fprintln(w, strings.Join(p.headers, "\t")); err != nil {
			return err
		}
		p.printed = true
	}
	switch o := object.(type) {
	case *unstructured.UnstructuredList:
		for _, item := range o.Items {
			if err := p.printRow(item.Object, w); err != nil {
				return err
			}
		}
		return nil
	case *unstructured.Unstructured:
		return p.printRow(o.Object, w)
	case *metav1.WatchEvent:
		return p.printRow(map[string]any{"type": o.Type, "object": o.Object.Object.(*unstructured.Unstructured).Object}, w)
	}
	return fmt.Errorf("%T has no columns", object)
}

func (p *columnsPrinter) printRow(content map[string]any, w io.Writer) error {
	cells := make([]string, len(p.paths))
	for i, path := range p.paths {
		results, err := path.FindResults(content)
		if err != nil {
			return err
		}
		var values []string
		for _, result := range results {
			for _, value := range result {
				values = append(values, printers.EscapeTerminal(fmt.Sprint(value.Interface())))
			}
		}
		if cells[i] = strings.Join(values, ","); values == nil || len(results[0]) == 0 {
			cells[i] = "<none>"
		}
	}
	_, err := fmt.Fprintln(w, strings.Join(cells, "\t"))
	return err
}
