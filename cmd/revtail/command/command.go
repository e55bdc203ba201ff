// Package command has what the commands of revtail share: exit codes, argument counts and hints about flags.
package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"revtail/gateway/config"
	"revtail/gateway/config/suggest"
)

// Exit codes. Scripts rely on them.
const (
	ExitOK          = 0
	ExitFailure     = 1
	ExitUsage       = 2 // the command line or the configuration is wrong
	ExitUnreachable = 3 // etcd did not answer within --startup-timeout
)

// ExitError is an error with the exit code of the process.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap lets errors.Is and errors.As see the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// UsageError is an ExitError with ExitUsage.
func UsageError(err error) error { return &ExitError{ExitUsage, err} }

// NoArgs is a RunE of cobra that refuses arguments. Its errors are ExitErrors.
func NoArgs(run func(cmd *cobra.Command) error) func(*cobra.Command, []string) error {
	return MaxArgs(0, func(cmd *cobra.Command, _ []string) error { return run(cmd) })
}

// MaxArgs is a RunE of cobra that refuses more than limit arguments. Its errors are ExitErrors.
func MaxArgs(limit int, run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return AnyArgs(func(cmd *cobra.Command, args []string) error {
		if len(args) > limit {
			return UsageError(fmt.Errorf("unexpected argument %q%s", args[limit], HelpHint(cmd)))
		}
		return run(cmd, args)
	})
}

// AnyArgs is a RunE of cobra whose errors are ExitErrors.
func AnyArgs(run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if failure := (*ExitError)(nil); err == nil || errors.As(err, &failure) {
			return err
		}
		return &ExitError{ExitFailure, err}
	}
}

// HelpHint is the last line of a usage error: it names the --help of the command.
func HelpHint(cmd *cobra.Command) string {
	return "\nSee '" + strings.TrimSpace(cmd.CommandPath()+" --help") + "'."
}

// ExplainFlagError is a FlagErrorFunc of cobra. It says what a flag wants, or which flag is the most similar, and adds the HelpHint.
func ExplainFlagError(cmd *cobra.Command, err error) error {
	hint := HelpHint(cmd)
	if invalid := (*pflag.InvalidValueError)(nil); errors.As(err, &invalid) {
		flag := invalid.GetFlag()
		return UsageError(fmt.Errorf("--%s %q: %s%s", flag.Name, invalid.GetValue(), wanted(flag, invalid.Unwrap()), hint))
	}
	if missing := (*pflag.ValueRequiredError)(nil); errors.As(err, &missing) {
		argument, _ := pflag.UnquoteUsage(missing.GetFlag())
		return UsageError(fmt.Errorf("flag needs an argument: --%s %s%s", missing.GetFlag().Name, argument, hint))
	}
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := suggest.Nearest(unknown.GetSpecifiedName(), known); near != "" {
			hint = " (did you mean --" + near + "?)" + hint
		}
	}
	return UsageError(fmt.Errorf("%w%s", err, hint))
}

// wanted says what a flag wants. The errors of pflag's own types have the words of Go.
func wanted(flag *pflag.Flag, cause error) string {
	if own := (*config.ValueError)(nil); errors.As(cause, &own) {
		return own.Want
	}
	switch flag.Value.Type() {
	case "bool":
		return "want true or false"
	case "int", "int32", "int64":
		return "want a whole number, as 100"
	case "uint", "uint64":
		return "want a whole number of 0 or more, as 100"
	case "duration":
		return "want a time, as 90s, 10m or 1h30m"
	case "stringSlice":
		return "want a list with commas, as a,b"
	}
	return cause.Error()
}
