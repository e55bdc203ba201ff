package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"revtail/gateway/config/suggest"
)

// HelpHint is the last line of a usage error: it names the --help of the command.
func HelpHint(cmd *cobra.Command) string {
	return "\nSee '" + strings.TrimSpace(cmd.CommandPath()+" --help") + "'."
}

// ExplainFlagError is a FlagErrorFunc of cobra. It adds the most similar flag and the HelpHint to the message of pflag.
func ExplainFlagError(cmd *cobra.Command, err error) error {
	hint := HelpHint(cmd)
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := suggest.Nearest(unknown.GetSpecifiedName(), known); near != "" {
			hint = " (did you mean --" + near + "?)" + hint
		}
	}
	return UsageError(fmt.Errorf("%w%s", err, hint))
}
