package objects

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
	"revtail/cmd/revtail/history/historyapi"
	"revtail/cmd/revtail/offline"
)

// flags are the flags of get and watch that select objects, and the targets that the arguments name.
type flags struct {
	gateway       client.Config
	snapshot      offline.Options // with a File: it is read instead of a gateway
	allNamespaces bool
	query         client.Query      // without Resource and Name
	revisionFlag  string            // the flag of query.Revision
	moment        historyapi.Moment // instead of query.Revision
	momentFlag    string

	targets []client.Target
}

// addRevision defines the flag of the revision.
func (f *flags) addRevision(cmd *cobra.Command, name, usage string) {
	f.revisionFlag = name
	cmd.Flags().Int64Var(&f.query.Revision, name, 0, usage)
}

// addMoment defines the flag of a revision or a time.
func (f *flags) addMoment(cmd *cobra.Command, name, usage string) {
	f.momentFlag = name
	cmd.Flags().Var(&f.moment, name, usage)
}

// setMoment completes the query with the moment, once.
func (f *flags) setMoment() error {
	switch {
	case f.moment.IsZero() || f.revisionFlag == f.momentFlag:
		return nil
	case f.query.Revision != 0:
		return fmt.Errorf("--%s and --%s: want one of them", f.momentFlag, f.revisionFlag)
	case f.moment.Revision != 0:
		f.query.Revision, f.revisionFlag = f.moment.Revision, f.momentFlag
	case f.snapshot.File != "" && !offline.HasTimes(f.snapshot.File):
		return fmt.Errorf("--%s %s and --snapshot: a file of an etcd does not have the times of its revisions: want a revision, as --%s 4711", f.momentFlag, f.moment, f.momentFlag)
	default:
		f.query.At = f.moment.Query()
	}
	return nil
}

// explainMoment adds the flag of the moment to the errors that say that it is not known.
func (f *flags) explainMoment(err error) error {
	if f.query.At != "" && (client.HasCode(err, http.StatusGone) || client.HasCode(err, http.StatusBadRequest)) {
		return fmt.Errorf("--%s %s: %w", f.momentFlag, f.moment, err)
	}
	return f.explainRevision(err)
}

// addSelectors defines the flags that select objects.
func (f *flags) addSelectors(cmd *cobra.Command) {
	set := cmd.Flags()
	set.SortFlags = false
	f.gateway.AddNamespaceFlag(set)
	set.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "objects of all namespaces")
	set.StringVarP(&f.query.Labels, "selector", "l", "", "`labels` of the objects, as app=web,tier!=back")
	set.StringVar(&f.query.Fields, "field-selector", "", "`fields` of the objects, as metadata.name=web or spec.nodeName=node-1")
	set.StringVar(&f.query.Filter, "filter", "", "CEL `expression` that is true for the objects, as 'object.spec.replicas > 3'; its variables are object, old, key and type")
}

// completeArgs completes the arguments, and the flags that it knows.
func (f *flags) completeArgs(cmd *cobra.Command) {
	cmd.ValidArgsFunction = completion.Objects(&f.gateway, &f.allNamespaces)
	completion.Gateway(cmd, &f.gateway)
}

// connect finds the targets of the arguments, and completes the query. The caller closes the client.
func (f *flags) connect(cmd *cobra.Command, args []string) (*client.Client, error) {
	if err := client.CheckArgs(args); err != nil {
		return nil, usageError(cmd, err)
	}
	if err := f.checkSelection(); err != nil {
		return nil, usageError(cmd, err)
	}
	c, err := client.New(f.gateway)
	if err != nil {
		return nil, command.UsageError(err)
	}
	resources, err := c.Resources(cmd.Context())
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("cannot read the resources of the gateway: %w", err)
	}
	if f.targets, err = client.Targets(resources, args); err != nil {
		c.Close()
		return nil, usageError(cmd, err)
	}
	if !f.allNamespaces {
		f.query.Namespace = c.Namespace()
	}
	return c, nil
}

// checkSelection refuses values of flags that are wrong whatever the gateway has.
func (f *flags) checkSelection() error {
	if f.query.Revision < 0 {
		return fmt.Errorf("--%s %d: want a revision of etcd, as 4711, or 0 for now", f.revisionFlag, f.query.Revision)
	}
	if err := f.setMoment(); err != nil {
		return err
	}
	return client.CheckSelectors(f.query.Labels, f.query.Fields)
}

// queries returns the queries of a target: one for all objects, or one for each name.
func (f *flags) queries(t client.Target) []client.Query {
	q := f.query
	q.Resource = t.Resource
	if !t.Resource.Namespaced {
		q.Namespace = ""
	}
	if len(t.Names) == 0 {
		return []client.Query{q}
	}
	var out []client.Query
	for _, name := range t.Names {
		q.Name = name
		out = append(out, q)
	}
	return out
}

func usageError(cmd *cobra.Command, err error) error {
	return command.UsageError(fmt.Errorf("%w%s", err, command.HelpHint(cmd)))
}

// inNamespace is the end of a message about the objects of a query.
func inNamespace(q client.Query) string {
	if q.Namespace == "" {
		return ""
	}
	return " in namespace " + q.Namespace
}

// errAbsent is the error of an object that does not exist.
func errAbsent(q client.Query) error {
	return errors.New(q.Resource.ObjectName(q.Name) + inNamespace(q) + " does not exist")
}
