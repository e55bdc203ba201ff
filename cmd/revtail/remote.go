package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/gateway/config"
)

// remote is the flags by which subcommands name a gateway and what they want of it.
type remote struct {
	access        client.Config
	namespace     string
	allNamespaces bool
	query         client.Query
	output        string
}

// remoteUse is how these subcommands are called.
const remoteUse = " RESOURCE [NAME]"

// addFlags defines them; outputs are what -o takes, the first one by default.
func (r *remote) addFlags(cmd *cobra.Command, outputs ...string) {
	r.addServerFlags(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&r.namespace, "namespace", "n", "default", "`namespace` of the objects")
	flags.BoolVarP(&r.allNamespaces, "all-namespaces", "A", false, "objects of all namespaces")
	flags.StringVarP(&r.query.Labels, "selector", "l", "", "`labels` of the objects, as app=web,tier!=back")
	flags.StringVar(&r.query.Fields, "field-selector", "", "`fields` of the objects, as metadata.name=web or spec.nodeName=node-1")
	flags.StringVar(&r.query.Filter, "filter", "", "`expression` in CEL that is true for the objects, as 'object.spec.replicas > 3'; it knows object, old, key and type")
	flags.StringVarP(&r.output, "output", "o", outputs[0], "`form` of the output: "+strings.Join(outputs, ", "))
	flags.SortFlags = false
	cmd.ValidArgsFunction = r.complete
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

func (r *remote) addServerFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	servers := []string{"http://127.0.0.1:8080"}
	if env := os.Getenv(config.EnvServer); env != "" {
		servers = strings.Split(env, ",")
	}
	flags.StringSliceVar(&r.access.Servers, "server", servers, "`URLs` of gateways of one etcd, comma separated: the next is asked when one does not answer ("+config.EnvServer+")")
	flags.StringVar(&r.access.CACert, "cacert", "", "PEM `file` of the authorities that their certificates are checked with; none: those of the system, and any on loopback")
	flags.StringVar(&r.access.Cert, "cert", "", "PEM `file` of a client certificate")
	flags.StringVar(&r.access.Key, "key", "", "PEM `file` of that certificate's key")
	flags.StringVar(&r.access.TokenFile, "token-file", "", "`file` whose content is a bearer token")
}

// begin finds the resource that the arguments name, as RESOURCE, RESOURCE NAME or RESOURCE/NAME. The caller closes the client.
func (r *remote) begin(cmd *cobra.Command, args []string, outputs ...string) (*client.Client, error) {
	usage := func(format string, about ...any) error {
		return command.UsageError(fmt.Errorf(format+command.HelpHint(cmd), about...))
	}
	if len(args) == 0 {
		return nil, usage("which resource? As in: %s configmaps", cmd.CommandPath())
	}
	name, object, hasObject := strings.Cut(args[0], "/")
	if len(args) == 2 {
		if hasObject {
			return nil, usage("two names: %q and %q", object, args[1])
		}
		object = args[1]
	}
	if !has(outputs, r.output) {
		return nil, usage("--output %q: want one of %s", r.output, strings.Join(outputs, ", "))
	}
	c, err := client.New(r.access)
	if err != nil {
		return nil, command.UsageError(err)
	}
	resources, err := c.Resources(cmd.Context())
	if err != nil {
		return nil, fmt.Errorf("cannot ask the gateway which resources there are: %w", err)
	}
	r.query.Resource, err = client.Find(resources, name)
	if err != nil {
		return nil, command.UsageError(err)
	}
	r.query.Name = object
	if r.query.Resource.Namespaced && !r.allNamespaces {
		r.query.Namespace = r.namespace
	}
	return c, nil
}

func has(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

// completionTime is how long a shell may be kept waiting.
const completionTime = 2 * time.Second

// complete completes the names of resources, as the gateway has them.
func (r *remote) complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	c, err := client.New(r.access)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer c.Close()
	resources, err := c.Resources(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out []string
	for _, res := range resources {
		out = append(out, res.QualifiedName()+"\t"+res.Kind)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
