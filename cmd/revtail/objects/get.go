package objects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
)

var getOutputs = []string{"table", "wide", "json", "yaml", "name"}

// NewGetCommand returns the command get.
func NewGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get" + argsUsage,
		Short: "List objects, or get one, as they are now or were at a past revision",
		Long: `List the objects of a resource, or get one of them, as they are now or were at a past revision.

RESOURCE is a plural, singular, short name or kind of the gateway. If two groups have the same name, add the group after a dot.

  revtail get configmaps -A
  revtail get cm coredns -n kube-system -o yaml
  revtail get deploy -l app=web --revision 4711`,
	}
	f := &flags{}
	f.add(cmd, getOutputs...)
	cmd.Flags().Int64Var(&f.query.Revision, "revision", 0, "as of a past `revision` of etcd; 0: now")
	cmd.RunE = command.MaxArgs(2, func(cmd *cobra.Command, args []string) error {
		c, err := f.connect(cmd, args, getOutputs...)
		if err != nil {
			return err
		}
		defer c.Close()
		return explainRevision(f.get(cmd, c), f.query.Revision)
	})
	return cmd
}

// get writes the objects of the query. A name without an object is an error.
func (f *flags) get(cmd *cobra.Command, c *client.Client) error {
	if f.output == "table" || f.output == "wide" {
		table, err := c.Table(cmd.Context(), f.query)
		if err != nil {
			return err
		}
		if len(table.Rows) == 0 {
			return f.reportNone(cmd)
		}
		printer := tablePrinter{wide: f.output == "wide", namespaces: f.allNamespaces && f.query.Resource.Namespaced}
		return printer.print(cmd.OutOrStdout(), table)
	}
	list, err := c.List(cmd.Context(), f.query)
	if err != nil {
		return err
	}
	if len(list.Objects) == 0 && (f.query.Name != "" || f.output == "name") {
		return f.reportNone(cmd)
	}
	if f.output == "name" {
		for _, o := range list.Objects {
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), f.query.Resource.ObjectName(o.Name)); err != nil {
				return err
			}
		}
		return nil
	}
	return f.writeDocument(cmd.OutOrStdout(), list)
}

// reportNone is the end of a get without objects: an error if it was for one object, else a message.
func (f *flags) reportNone(cmd *cobra.Command) error {
	in := ""
	if f.query.Namespace != "" {
		in = " in namespace " + f.query.Namespace
	}
	if f.query.Name != "" {
		return fmt.Errorf("%s%s does not exist", f.query.Resource.ObjectName(f.query.Name), in)
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "No %s%s.\n", f.query.Resource.QualifiedName(), in)
	return err
}

// explainRevision adds the requested revision to the error 410 Gone.
func explainRevision(err error, revision int64) error {
	if revision > 0 && client.HasCode(err, http.StatusGone) {
		return fmt.Errorf("etcd has compacted revision %d: %w", revision, err)
	}
	return err
}

// writeDocument writes the object that the arguments name, or a List of all.
func (f *flags) writeDocument(w io.Writer, list client.List) error {
	var document any
	if f.query.Name != "" {
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
	if err == nil && f.output == "yaml" {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// marshal returns JSON with a final newline. It does not escape <, > and &, because the output is no HTML.
func marshal(document any, indent string) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(document)
	return out.Bytes(), err
}
