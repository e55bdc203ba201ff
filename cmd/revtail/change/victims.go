package change

import (
	"fmt"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/manifest"
)

// victim is an object to delete.
type victim struct {
	ref
	uid string // empty: whichever has the name
}

// victims returns the objects to delete.
func (d *deleter) victims(cmd *cobra.Command, args []string) ([]victim, error) {
	if len(d.files.names) > 0 {
		return d.victimsOfFiles(cmd)
	}
	targets, err := client.Targets(d.resources, args)
	if err != nil {
		return nil, usageError(cmd, "%w", err)
	}
	var out []victim
	for _, t := range targets {
		namespace := ""
		if t.Resource.Namespaced && !d.allNamespaces {
			namespace = d.client.Namespace()
		}
		for _, name := range t.Names {
			out = append(out, victim{ref: ref{t.Resource, namespace, name}})
		}
		if len(t.Names) > 0 {
			continue
		}
		list, err := d.client.List(cmd.Context(), client.Query{Resource: t.Resource, Namespace: namespace, Labels: d.selector, Fields: d.fieldSelector})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Resource.QualifiedName(), err)
		}
		for _, o := range list.Objects {
			m, err := metaOf(o.JSON)
			if err != nil {
				return nil, err
			}
			out = append(out, victim{ref{t.Resource, o.Namespace, o.Name}, m.Metadata.UID})
		}
	}
	return out, nil
}

func (d *deleter) victimsOfFiles(cmd *cobra.Command) ([]victim, error) {
	documents, err := manifest.Read(cmd.Context(), d.files.names, d.files.recursive, cmd.InOrStdin())
	if err != nil {
		return nil, fmt.Errorf("-f: %w", err)
	}
	var out []victim
	for _, document := range documents {
		r, err := d.find(document)
		if err != nil && d.ignoreNotFound {
			continue
		}
		var at ref
		if err == nil {
			at, err = d.place(document, r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", document.Source, err)
		}
		out = append(out, victim{ref: at})
	}
	return out, nil
}
