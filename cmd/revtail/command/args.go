package command

import (
	"fmt"

	"github.com/spf13/cobra"
)

// NoArgs is a RunE of cobra that refuses arguments. Its errors are ExitErrors.
func NoArgs(run func(cmd *cobra.Command) error) func(*cobra.Command, []string) error {
	return MaxArgs(0, func(cmd *cobra.Command, _ []string) error { return run(cmd) })
}

// MaxArgs is a RunE of cobra that refuses more than limit arguments. Its errors are ExitErrors.
func MaxArgs(limit int, run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > limit {
			return UsageError(fmt.Errorf("unexpected argument %q%s", args[limit], HelpHint(cmd)))
		}
		return withExitCode(ExitFailure, run(cmd, args))
	}
}
