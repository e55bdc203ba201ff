package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
)

var getOutputs = []string{"table", "wide", "json", "yaml", "name"}

func newGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get" + remoteUse,
		Short: "List objects, or get one, as they are now or were at a past revision",
		Long: `List the objects of a resource, or get one of them, as they are now or were at a past revision.

RESOURCE is what the gateway calls it: plural, singular, short name or kind, with the group behind a dot where two groups
have the same.

  revtail get configmaps -A
  revtail get cm coredns -n kube-system -o yaml
  revtail get deploy -l app=web --revision 4711`,
	}
	r := &remote{}
	r.addFlags(cmd, getOutputs...)
	cmd.Flags().Int64Var(&r.query.Revision, "revision", 0, "as of a past `revision` of etcd; 0: now")
	cmd.RunE = command.MaxArgs(2, func(cmd *cobra.Command, args []string) error {
		c, err := r.begin(cmd, args, getOutputs...)
		if err != nil {
			return err
		}
		defer c.Close()
		return r.get(cmd, c)
	})
	return cmd
}

// get writes what was asked for. An object that was named and is not there is an error.
func (r *remote) get(cmd *cobra.Command, c *client.Client) error {
	if r.output == "table" || r.output == "wide" {
		table, err := c.Table(cmd.Context(), r.query)
		if err != nil {
			return explainRevision(err, r.query.Revision)
		}
		if len(table.Rows) == 0 {
			return r.none(cmd)
		}
		return r.writeTable(cmd.OutOrStdout(), table)
	}
	list, err := c.List(cmd.Context(), r.query)
	if err != nil {
		return explainRevision(err, r.query.Revision)
	}
	if len(list.Objects) == 0 && (r.query.Name != "" || r.output == "name") {
		return r.none(cmd)
	}
	if r.output == "name" {
		return r.writeNames(cmd.OutOrStdout(), list)
	}
	return r.writeDocument(cmd.OutOrStdout(), list)
}

func (r *remote) none(cmd *cobra.Command) error {
	in := ""
	if r.query.Namespace != "" {
		in = " in namespace " + r.query.Namespace
	}
	if r.query.Name != "" {
		return fmt.Errorf("%s%s is not there", r.query.Resource.Of(r.query.Name), in)
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "No %s%s.\n", r.query.Resource.QualifiedName(), in)
	return err
}

// explainRevision says what the matter is with a revision that etcd has no more.
func explainRevision(err error, revision int64) error {
	if refused := (*client.StatusError)(nil); errors.As(err, &refused) && refused.Code == http.StatusGone && revision > 0 {
		return fmt.Errorf("etcd has no revision %d any more: %w", revision, err)
	}
	return err
}

func (r *remote) writeNames(w io.Writer, list client.List) error {
	for _, o := range list.Objects {
		if _, err := fmt.Fprintln(w, r.query.Resource.Of(o.Name)); err != nil {
			return err
		}
	}
	return nil
}

// writeDocument writes one document: the object that was named, or a list.
func (r *remote) writeDocument(w io.Writer, list client.List) error {
	var document any
	if r.query.Name != "" {
		document = list.Objects[0].JSON
	} else {
		items := make([]json.RawMessage, len(list.Objects))
		for i, o := range list.Objects {
			items[i] = o.JSON
		}
		document = map[string]any{
			"apiVersion": "v1", "kind": "List", "items": items,
			"metadata": map[string]string{"resourceVersion": fmt.Sprint(list.Revision)},
		}
	}
	text, err := marshal(document, "    ")
	if err == nil && r.output == "yaml" {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// marshal makes JSON for people and programs, which is no part of a page: with < as it is, and an end of line.
func marshal(document any, indent string) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(document)
	return out.Bytes(), err
}

func (r *remote) writeTable(w io.Writer, table metav1.Table) error {
	out := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	var heads []string
	if r.allNamespaces && r.query.Resource.Namespaced {
		heads = append(heads, "NAMESPACE")
	}
	for _, column := range table.ColumnDefinitions {
		if r.shows(column) {
			heads = append(heads, strings.ToUpper(column.Name))
		}
	}
	_, err := fmt.Fprintln(out, strings.Join(heads, "\t"))
	for _, row := range table.Rows {
		cells, rowErr := r.cells(table.ColumnDefinitions, row)
		_, lineErr := fmt.Fprintln(out, strings.Join(cells, "\t"))
		err = errors.Join(err, rowErr, lineErr)
	}
	return errors.Join(err, out.Flush())
}

// shows tells whether a column is for all, or only for who wants to see much.
func (r *remote) shows(column metav1.TableColumnDefinition) bool {
	return column.Priority == 0 || r.output == "wide"
}

func (r *remote) cells(columns []metav1.TableColumnDefinition, row metav1.TableRow) ([]string, error) {
	var cells []string
	if r.allNamespaces && r.query.Resource.Namespaced {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(row.Object.Raw, &object); err != nil {
			return nil, err
		}
		cells = append(cells, object.Namespace)
	}
	for i, column := range columns {
		if i < len(row.Cells) && r.shows(column) {
			cells = append(cells, cell(row.Cells[i]))
		}
	}
	return cells, nil
}

// cell is what a table shows of a value: nothing of what would move a terminal's cursor, and no tab or end of line.
func cell(value any) string {
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
