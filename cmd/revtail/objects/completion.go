package objects

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
)

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
