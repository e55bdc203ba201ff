// Command revtail gives any etcd the list-watch protocol of Kubernetes over HTTP.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"revtail/gateway/config/spelling"
)

// Exit codes. Scripts rely on them.
const (
	exitOK          = 0
	exitRuntime     = 1
	exitUsage       = 2 // the command line or the configuration
	exitUnreachable = 3 // etcd did not answer within --startup-timeout
)

// heapSampling is how many bytes are allocated for each sample of the heap's profile. Under load that are hundreds of megabytes a second:
// the runtime's own rate, eight times as high, cost a sixtieth of a write.
const heapSampling = 4 << 20

func main() {
	runtime.MemProfileRate = heapSampling
	holdLittleGarbage()
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program: it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(untilSignal(ctx, stderr))
	if err == nil {
		return exitOK
	}
	failure := (*exitError)(nil)
	if !errors.As(err, &failure) { // what cobra itself finds: an unknown command
		failure = &exitError{exitUsage, fmt.Errorf("%w%s", err, seeHelp(root))}
		err = failure
	}
	_, _ = fmt.Fprintf(stderr, "revtail: %v\n", err) // the exit code says it too
	return failure.code
}

// untilSignal returns a context that the first SIGTERM or SIGINT ends. A second one ends the process.
func untilSignal(parent context.Context, stderr io.Writer) context.Context {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() { // as long as the process
		<-signals
		cancel()
		s := <-signals
		time.AfterFunc(time.Second, func() { os.Exit(exitRuntime) }) // when nobody reads stderr
		_, _ = fmt.Fprintf(stderr, "revtail: %v again: not waiting for anything any more\n", s)
		os.Exit(exitRuntime)
	}()
	return ctx
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "revtail",
		Short:         "The list-watch protocol of Kubernetes for any etcd, over HTTP",
		SilenceErrors: true, // run prints them
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(explainFlagError)
	root.AddCommand(newServeCommand(), newWatchCommand(), newGetCommand(), newDoctorCommand(), newHealthCommand(), newTokenCommand(), newVersionCommand())
	return root
}

// verb makes what a subcommand runs: no arguments, and an exit code for every error.
func verb(do func(cmd *cobra.Command) error) func(*cobra.Command, []string) error {
	return verbOn(0, func(cmd *cobra.Command, _ []string) error { return do(cmd) })
}

// verbOn is verb for a subcommand that takes so many arguments at most.
func verbOn(most int, do func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > most {
			return &exitError{exitUsage, fmt.Errorf("unexpected argument %q%s", args[most], seeHelp(cmd))}
		}
		err := do(cmd, args)
		if failure := (*exitError)(nil); err != nil && !errors.As(err, &failure) {
			return &exitError{exitRuntime, err}
		}
		return err
	}
}

// exitError is an error with the exit code it means.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// explainFlagError adds to pflag's message what the flag might have been, and where flags are explained.
func explainFlagError(cmd *cobra.Command, err error) error {
	hint := seeHelp(cmd)
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := spelling.Nearest(unknown.GetSpecifiedName(), known); near != "" {
			hint = " (did you mean --" + near + "?)" + hint
		}
	}
	return &exitError{exitUsage, fmt.Errorf("%w%s", err, hint)}
}

func seeHelp(cmd *cobra.Command) string {
	return "\nSee '" + strings.TrimSpace(cmd.CommandPath()+" --help") + "'."
}
