package completion

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
)

// timeout bounds the time that a shell waits for completions.
const timeout = 2 * time.Second

// noFiles completes with nothing else, and no names of files.
const noFiles = cobra.ShellCompDirectiveNoFileComp

// Values completes a flag with fixed values. A value may have a description after a tab.
func Values(cmd *cobra.Command, flag string, values ...string) {
	register(cmd, flag, cobra.FixedCompletions(values, noFiles))
}

// Assignments completes a flag with fixed values, of which some end with =.
func Assignments(cmd *cobra.Command, flag string, values ...string) {
	register(cmd, flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		var matches []string
		directive := noFiles | cobra.ShellCompDirectiveNoSpace
		for _, value := range values {
			if !strings.HasPrefix(value, typed) {
				continue
			}
			matches = append(matches, value)
			if !strings.HasSuffix(value, "=") {
				directive = noFiles
			}
		}
		return matches, directive
	})
}

// Gateway completes the flags of a client.Config.
func Gateway(cmd *cobra.Command, config *client.Config) {
	register(cmd, "context", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		contexts, err := config.Contexts()
		return result(typed, contexts, err)
	})
	register(cmd, "server", cobra.FixedCompletions(nil, noFiles))
	if cmd.Flags().Lookup("namespace") != nil {
		register(cmd, "namespace", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return ask(cmd, config, typed, func(ctx context.Context, c *client.Client) ([]string, error) {
				namespaces := client.Resource{Version: "v1", Plural: "namespaces", Kind: "Namespace"}
				return c.Names(ctx, client.Query{Resource: namespaces, PageSize: maxNames})
			})
		})
	}
}

// Objects is a ValidArgsFunction of cobra for the arguments that client.Targets reads. allNamespaces may be nil.
func Objects(config *client.Config, allNamespaces *bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return ask(cmd, config, typed, func(ctx context.Context, c *client.Client) ([]string, error) {
			resources, err := c.Resources(ctx)
			if err != nil {
				return nil, err
			}
			o := objects{Client: c, resources: resources, all: allNamespaces != nil && *allNamespaces}
			switch resource, _, isPair := strings.Cut(typed, "/"); {
			case isPair:
				return o.names(ctx, resource, resource+"/")
			case len(args) == 0:
				return o.resourceNames(typed), nil
			case !strings.Contains(args[0], "/"):
				found, err := o.names(ctx, args[0], "")
				return slices.DeleteFunc(found, func(name string) bool { return slices.Contains(args[1:], name) }), err
			}
			return nil, nil
		})
	}
}

// AddCommand adds cobra's command that prints the scripts for shells. It refuses an unknown shell.
func AddCommand(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		panic(err) // cobra has no such command
	}
	var shells []string
	for _, shell := range cmd.Commands() {
		shells = append(shells, shell.Name())
	}
	cmd.Args = cobra.ArbitraryArgs // RunE refuses them
	cmd.RunE = command.MaxArgs(1, func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return command.UsageError(fmt.Errorf("unknown shell %q: want %s, as 'source <(%s bash)'%s", args[0], strings.Join(shells, ", "), cmd.CommandPath(), command.HelpHint(cmd)))
		}
		return cmd.Help()
	})
}

// objects completes the objects of a gateway.
type objects struct {
	*client.Client
	resources []client.Resource
	all       bool // namespaces
}

// resourceNames returns the resources and categories, behind those before the last comma of what is typed. Behind a comma they have
// no descriptions, because cobra's script for bash drops descriptions of texts that a shell would quote.
func (o objects) resourceNames(typed string) []string {
	head := typed[:strings.LastIndex(typed, ",")+1]
	var out, categories []string
	add := func(name, description string) {
		if head == "" {
			name += "\t" + description
		}
		if !slices.Contains(out, head+name) {
			out = append(out, head+name)
		}
	}
	for _, r := range o.resources {
		add(r.QualifiedName(), r.Kind)
		categories = append(categories, r.Categories...)
	}
	for _, category := range categories {
		add(category, "category")
	}
	return out
}

// names returns the names of the objects of a resource, after a prefix.
func (o objects) names(ctx context.Context, resource, prefix string) ([]string, error) {
	found, err := client.Find(o.resources, resource)
	if err != nil {
		return nil, err
	}
	q := client.Query{Resource: found, PageSize: maxNames}
	if found.Namespaced && !o.all {
		q.Namespace = o.Namespace()
	}
	out, err := o.Names(ctx, q)
	for i := range out {
		out[i] = prefix + out[i]
	}
	return out, err
}

// maxNames is the number of names that a shell is given.
const maxNames = 1000

// ask calls a function with a client of the gateway, for a limited time.
func ask(cmd *cobra.Command, config *client.Config, typed string, f func(context.Context, *client.Client) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
	defer cancel()
	c, err := client.New(*config)
	if err != nil {
		return result(typed, nil, err)
	}
	defer c.Close()
	found, err := f(ctx, c)
	return result(typed, found, err)
}

// result returns what begins with what is typed. It reports an error in the file of BASH_COMP_DEBUG_FILE, because a shell that
// completes has no place for messages.
func result(typed string, found []string, err error) ([]string, cobra.ShellCompDirective) {
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
		return nil, noFiles
	}
	return slices.DeleteFunc(found, func(text string) bool { return !strings.HasPrefix(text, typed) }), noFiles
}

func register(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // there is no such flag, or it is completed twice
	}
}

// NoFiles completes nothing for the flags of all commands below root whose argument is no file, where a shell would offer files.
func NoFiles(root *cobra.Command) {
	root.Flags().VisitAll(func(flag *pflag.Flag) {
		argument, _ := pflag.UnquoteUsage(flag)
		if _, completed := root.GetFlagCompletionFunc(flag.Name); !completed && !slices.Contains(fileArguments, argument) && flag.Value.Type() != "bool" {
			register(root, flag.Name, cobra.FixedCompletions(nil, noFiles))
		}
	})
	for _, cmd := range root.Commands() {
		NoFiles(cmd)
	}
}

// fileArguments are the arguments of flags that are, or may be, names of files.
var fileArguments = []string{"file", "directory", "text"}
