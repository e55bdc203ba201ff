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
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/doctor"
	"revtail/cmd/revtail/health"
	"revtail/cmd/revtail/memory"
	"revtail/cmd/revtail/objects"
	"revtail/cmd/revtail/serve"
	"revtail/cmd/revtail/token"
	"revtail/etcdstore/embedded"
)

// memProfileRate is the number of allocated bytes per sample of the heap profile. It is eight times the default of the runtime,
// because sampling at the default rate takes 1/60 of the processor time of a write.
const memProfileRate = 4 << 20

func main() {
	runtime.MemProfileRate = memProfileRate
	memory.SetLimit()
	memory.StartPacer()
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(notifyContext(ctx, stderr))
	if err == nil {
		return command.ExitOK
	}
	failure := (*command.ExitError)(nil)
	if !errors.As(err, &failure) { // an error of cobra itself: an unknown command
		failure = &command.ExitError{Code: command.ExitUsage, Err: fmt.Errorf("%w%s", err, command.HelpHint(root))}
	}
	_, _ = fmt.Fprintf(stderr, "revtail: %v\n", failure) // the exit code reports the failure too
	return failure.Code
}

// notifyContext returns a context that the first SIGTERM or SIGINT cancels. A second signal exits at once.
func notifyContext(parent context.Context, stderr io.Writer) context.Context {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() { // runs until the process exits
		<-signals
		cancel()
		s := <-signals
		time.AfterFunc(time.Second, func() { os.Exit(command.ExitFailure) }) // in case the write to stderr blocks
		_, _ = fmt.Fprintf(stderr, "revtail: %v again: exiting at once\n", s)
		os.Exit(command.ExitFailure)
	}()
	return ctx
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "revtail",
		Short:         "The list-watch protocol of Kubernetes for any etcd, over HTTP",
		SilenceErrors: true, // run prints errors
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(command.ExplainFlagError)
	own := programVersion()
	root.AddCommand(serve.NewCommand(own), objects.NewWatchCommand(), objects.NewGetCommand(), doctor.NewCommand(own), health.NewCommand(), token.NewCommand(), newVersionCommand(own))
	return root
}

// version of a release, set by the linker: -ldflags "-X main.version=v1.2.3".
var version string

func newVersionCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of revtail, Go and the embedded etcd",
		RunE: command.NoArgs(func(cmd *cobra.Command) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "revtail %s\ngo      %s %s/%s\netcd    %s\n",
				version, runtime.Version(), runtime.GOOS, runtime.GOARCH, embedded.Version())
			return err
		}),
	}
}

// programVersion is the version of the release, else the one that the go command has recorded.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
