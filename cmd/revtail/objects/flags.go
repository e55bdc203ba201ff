package objects

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
)

// flags are the flags of get and watch, and the query that they and the arguments make.
type flags struct {
	gateway       client.Config
	namespace     string
	allNamespaces bool
	query         client.Query
	output        string
}

// argsUsage are the arguments of get and watch.
const argsUsage = " RESOURCE [NAME]"

// add defines the flags. outputs are the values of --output; the first one is the default.
func (f *flags) add(cmd *cobra.Command, outputs ...string) {
	set := cmd.Flags()
	f.gateway.AddFlags(set)
	set.StringVarP(&f.namespace, "namespace", "n", "default", "`namespace` of the objects")
	set.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "objects of all namespaces")
	set.StringVarP(&f.query.Labels, "selector", "l", "", "`labels` of the objects, as app=web,tier!=back")
	set.StringVar(&f.query.Fields, "field-selector", "", "`fields` of the objects, as metadata.name=web or spec.nodeName=node-1")
	set.StringVar(&f.query.Filter, "filter", "", "CEL `expression` that is true for the objects, as 'object.spec.replicas > 3'; its variables are object, old, key and type")
	set.StringVarP(&f.output, "output", "o", outputs[0], "`format` of the output: "+strings.Join(outputs, ", "))
	set.SortFlags = false
	cmd.ValidArgsFunction = f.completeResource
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp)) // fails only without such a flag
}

// connect finds the resource of the arguments, which are RESOURCE, RESOURCE NAME or RESOURCE/NAME, and completes the query. The
// caller closes the client.
func (f *flags) connect(cmd *cobra.Command, args []string, outputs ...string) (*client.Client, error) {
	usage := func(format string, a ...any) error {
		return command.UsageError(fmt.Errorf(format+command.HelpHint(cmd), a...))
	}
	if len(args) == 0 {
		return nil, usage("no resource is given: want, for example, %s configmaps", cmd.CommandPath())
	}
	resource, name, hasName := strings.Cut(args[0], "/")
	if len(args) == 2 {
		if hasName {
			return nil, usage("two names are given: %q and %q", name, args[1])
		}
		name = args[1]
	}
	if !slices.Contains(outputs, f.output) {
		return nil, usage("--output %q: want one of %s", f.output, strings.Join(outputs, ", "))
	}
	c, err := client.New(f.gateway)
	if err != nil {
		return nil, command.UsageError(err)
	}
	resources, err := c.Resources(cmd.Context())
	if err != nil {
		return nil, fmt.Errorf("cannot read the resources of the gateway: %w", err)
	}
	f.query.Resource, err = client.Find(resources, resource)
	if err != nil {
		return nil, command.UsageError(err)
	}
	f.query.Name = name
	if f.query.Resource.Namespaced && !f.allNamespaces {
		f.query.Namespace = f.namespace
	}
	return c, nil
}

// completionTimeout bounds the time that a shell waits for completions.
const completionTimeout = 2 * time.Second

// completeResource is a ValidArgsFunction of cobra. It completes the first argument with the resources of the gateway.
func (f *flags) completeResource(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	c, err := client.New(f.gateway)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer c.Close()
	resources, err := c.Resources(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out []string
	for _, resource := range resources {
		out = append(out, resource.QualifiedName()+"\t"+resource.Kind)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
