package change

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/diff"
	"revtail/cmd/revtail/manifest"
)

type resource = client.Resource

// change is what an apply makes of an object.
type change struct {
	ref
	document manifest.Document
	live     json.RawMessage // nil: the object does not exist
	result   json.RawMessage // what the gateway would make of it; of a resource that does not exist yet, the document
	lines    []diff.Line
}

func (c change) word() string {
	switch {
	case c.live == nil:
		return "created"
	case len(c.lines) == 0:
		return "unchanged"
	}
	return "configured"
}

func countDifferent(changes []change) (n int) {
	for _, c := range changes {
		if c.word() != "unchanged" {
			n++
		}
	}
	return n
}

// isSame reports whether two states of an object differ only in what the server writes.
func isSame(before, after json.RawMessage) (bool, error) {
	lines, err := diff.Documents(before, after, diff.IsOmitted)
	return len(lines) == 0, err
}

// plan reads the files, and asks the gateway what it would make of each object. The error has all objects that it refuses; then nothing
// is applied. Without an error the caller closes the client.
func (a *applier) plan(cmd *cobra.Command) ([]change, error) {
	if len(a.files.names) == 0 {
		return nil, usageError(cmd, "no file is given: want, for example, %s -f web.yaml", cmd.CommandPath())
	}
	if a.manager == "" {
		return nil, usageError(cmd, "--field-manager is empty: want a name, as revtail")
	}
	documents, err := manifest.Read(cmd.Context(), a.files.names, a.files.recursive, cmd.InOrStdin())
	if err != nil {
		return nil, fmt.Errorf("-f: %w", err)
	}
	colored := cmd.ErrOrStderr()
	if a.dryRun {
		colored = cmd.OutOrStdout()
	}
	if err := a.connect(cmd, colored); err != nil {
		return nil, err
	}
	var changes []change
	var errs []error
	for i, d := range documents {
		c, err := a.preview(cmd.Context(), d, documents[:i])
		if err != nil {
			errs = append(errs, err)
		}
		changes = append(changes, c)
		command.ShowProgress(cmd, "comparing objects", i+1, len(documents))
	}
	if len(errs) == 0 {
		return changes, nil
	}
	a.client.Close()
	if len(documents) > 1 {
		errs = append(errs, fmt.Errorf("%d of %d objects are refused: nothing is applied", len(errs), len(documents)))
	}
	return nil, errors.Join(errs...)
}

// preview asks the gateway what it would make of a document. before are the documents that are applied before it.
func (a *applier) preview(ctx context.Context, d manifest.Document, before []manifest.Document) (c change, err error) {
	c = change{document: d, result: d.JSON}
	c.resource, err = a.find(d)
	if err != nil && slices.ContainsFunc(before, func(b manifest.Document) bool { return defines(b, d) }) {
		c.ref = ref{resource: resource{Kind: d.Kind, Group: groupOf(d.APIVersion)}, namespace: d.Namespace, name: d.Name}
		c.lines, err = diff.Objects(nil, c.result)
		return c, err
	}
	if err == nil {
		c.ref, err = a.place(d, c.resource)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", d.Source, err)
	}
	if c.live, err = a.get(ctx, c.path()); err == nil {
		_, c.result, err = a.send(ctx, http.MethodPatch, c.path(), a.query(true), applyType, d.JSON)
	}
	if err != nil {
		return c, explainConflict(c.full(), fmt.Errorf("%s: %s: %w", d.Source, c.full(), err))
	}
	c.lines, err = diff.Objects(c.live, c.result)
	return c, err
}

// find returns the resource of a document.
func (s *session) find(d manifest.Document) (resource, error) {
	var versions []string
	for _, r := range s.resources {
		if r.Kind == d.Kind && r.APIVersion() == d.APIVersion {
			return r, nil
		}
		if r.Kind == d.Kind {
			versions = append(versions, r.APIVersion())
		}
	}
	hint := ": revtail get crd lists the definitions of more kinds"
	if len(versions) > 0 {
		hint = fmt.Sprintf(": want apiVersion %s", versions[0])
	}
	return resource{}, fmt.Errorf("the gateway serves no kind %q of apiVersion %q%s", d.Kind, d.APIVersion, hint)
}

// place returns where the object of a document is.
func (s *session) place(d manifest.Document, r resource) (ref, error) {
	out := ref{resource: r, name: d.Name}
	switch flag := s.gateway.Namespace; {
	case !r.Namespaced && d.Namespace != "":
		return out, fmt.Errorf("%s has the namespace %q, and objects of %s have none: remove metadata.namespace", r.ObjectName(d.Name), d.Namespace, r.QualifiedName())
	case !r.Namespaced:
	case flag != "" && d.Namespace != "" && flag != d.Namespace:
		return out, fmt.Errorf("%s has the namespace %q, and --namespace is %q: leave one of them out", r.ObjectName(d.Name), d.Namespace, flag)
	case d.Namespace != "":
		out.namespace = d.Namespace
	default:
		out.namespace = s.client.Namespace()
	}
	return out, nil
}

func groupOf(apiVersion string) string {
	if group, _, found := bytes.Cut([]byte(apiVersion), []byte("/")); found {
		return string(group)
	}
	return ""
}

// defines reports whether a document is the definition of the resource of another one.
func defines(definition, d manifest.Document) bool {
	if definition.Kind != "CustomResourceDefinition" {
		return false
	}
	var read struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct{ Name string }
		}
	}
	if json.Unmarshal(definition.JSON, &read) != nil || read.Spec.Names.Kind != d.Kind {
		return false
	}
	for _, v := range read.Spec.Versions {
		if read.Spec.Group+"/"+v.Name == d.APIVersion {
			return true
		}
	}
	return false
}

// show prints the objects that would change, with the lines that differ.
func (a *applier) show(w io.Writer, changes []change) error {
	var out bytes.Buffer
	for _, c := range changes {
		switch c.word() {
		case "created":
			a.colors.Text(&out, diff.Green, "create")
		case "configured":
			a.colors.Text(&out, diff.Yellow, "change")
		default:
			continue
		}
		fmt.Fprintf(&out, " %s\n", c.full())
		a.colors.Lines(&out, c.lines)
	}
	_, err := w.Write(out.Bytes())
	return err
}
