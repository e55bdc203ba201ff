package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"

	"revtail/cmd/revtail/client"
)

// observer gets what several followers deliver. Its functions are called one at a time.
type observer struct {
	onLists  func([]client.List) error // called once, with the first list of each query
	onEvent  func(client.Query, client.Event) error
	onNotice func(string)
}

// followAll follows queries until ctx ends, or until one fails. onLists is called before the first event.
func followAll(ctx context.Context, c *client.Client, queries []client.Query, o observer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex // held while a function of o is called
	lists, missing, ready := make([]client.List, len(queries)), len(queries), make(chan struct{})
	onList := func(i int, list client.List) error {
		mu.Lock()
		lists[i] = list
		if missing--; missing == 0 {
			err := o.onLists(lists)
			lists = nil
			mu.Unlock()
			close(ready)
			return err
		}
		mu.Unlock()
		select {
		case <-ready:
		case <-ctx.Done():
		}
		return nil
	}
	var running sync.WaitGroup
	for i, q := range queries {
		follower := &client.Follower{
			Client: c, Query: q,
			OnList: func(list client.List) error { return onList(i, list) },
			OnEvent: func(e client.Event) error {
				mu.Lock()
				defer mu.Unlock()
				return o.onEvent(q, e)
			},
			OnNotice: func(text string) {
				mu.Lock()
				defer mu.Unlock()
				o.onNotice(text)
			},
		}
		running.Go(func() {
			if err := follower.Run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// follow prints the objects of one resource, and then a row or document for each change.
func (g *getter) follow(cmd *cobra.Command, c *client.Client) error {
	if len(g.targets) > 1 {
		return usageError(cmd, fmt.Errorf("--watch follows one resource, and %d are given: 'revtail watch' follows several", len(g.targets)))
	}
	queries := g.queries(g.targets[0])
	p := newEventWriter(&g.printing, cmd.OutOrStdout(), g.outputWatchEvents)
	p.addResource(g.targets[0].Resource, false, g.allNamespaces)
	return followAll(cmd.Context(), c, queries, observer{
		onLists: func(lists []client.List) error { return g.printLists(cmd, p, queries, lists) },
		onEvent: func(q client.Query, e client.Event) error { return p.print(q.Resource, e) },
		onNotice: func(text string) {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "revtail: %s\n", text) // the watch continues without its notices
		},
	})
}

// printLists prints the first lists of a watch.
func (g *getter) printLists(cmd *cobra.Command, p *eventWriter, queries []client.Query, lists []client.List) error {
	var objects []client.Object
	for i, list := range lists {
		if queries[i].Name != "" && len(list.Objects) == 0 && !g.ignoreNotFound {
			return errAbsent(queries[i])
		}
		p.setColumns(queries[i].Resource, list.Columns)
		objects = append(objects, list.Objects...)
	}
	if g.watchOnly {
		return nil
	}
	if g.sortBy != "" {
		if err := sortObjects(objects, g.sortBy); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(cmd.ErrOrStderr(), "revtail: --sort-by sorts the objects that exist, and not the changes that follow"); err != nil {
			return err
		}
	}
	if g.isTable() && !g.outputWatchEvents {
		return p.printRows(g.targets[0].Resource, "", objects)
	}
	for _, o := range objects {
		if err := p.print(g.targets[0].Resource, client.Event{Type: "ADDED", Object: o}); err != nil {
			return err
		}
	}
	return nil
}

// eventWriter prints events in the format of --output.
type eventWriter struct {
	printing  *printing
	out       flushWriter
	withTypes bool // also ADDED, MODIFIED and DELETED
	tables    []resourceTable
}

// resourceTable is how the rows of a resource are printed.
type resourceTable struct {
	resource client.Resource
	printer  printers.ResourcePrinter
	columns  []metav1.TableColumnDefinition
}

func newEventWriter(p *printing, out io.Writer, withTypes bool) *eventWriter {
	return &eventWriter{printing: p, out: printers.GetNewTabWriter(out), withTypes: withTypes}
}

func (w *eventWriter) addResource(r client.Resource, withKind, withNamespace bool) {
	w.tables = append(w.tables, resourceTable{resource: r, printer: w.printing.tablePrinter(r, withKind, withNamespace)})
}

func (w *eventWriter) table(r client.Resource) *resourceTable {
	return &w.tables[slices.IndexFunc(w.tables, func(t resourceTable) bool { return t.resource.Path("") == r.Path("") })]
}

// setColumns sets the columns of the rows that follow, unless they are unknown.
func (w *eventWriter) setColumns(r client.Resource, columns []metav1.TableColumnDefinition) {
	if len(columns) > 0 {
		w.table(r).columns = columns
	}
}

// print prints an event.
func (w *eventWriter) print(r client.Resource, e client.Event) error {
	if w.printing.isTable() {
		return w.printRows(r, e.Type, []client.Object{e.Object})
	}
	document, err := w.printing.newDocument(e.Object)
	if err != nil {
		return err
	}
	var shown runtime.Object = document
	if w.withTypes {
		shown = newEvent(e.Type, document)
	}
	return errors.Join(w.printing.printDocument(w.out, shown), w.out.Flush())
}

// printRows prints the rows of objects.
func (w *eventWriter) printRows(r client.Resource, kind string, objects []client.Object) error {
	if len(objects) == 0 {
		return nil
	}
	w.setColumns(r, objects[0].Columns)
	t := w.table(r)
	table, err := newTable(slices.Clone(t.columns), objects)
	if err != nil {
		return err
	}
	var shown runtime.Object = table
	if w.withTypes {
		shown = newEvent(kind, table)
	}
	return errors.Join(t.printer.PrintObj(shown, w.out), w.out.Flush())
}
