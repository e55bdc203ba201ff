// Command revtail gives any etcd the list-watch protocol of Kubernetes over HTTP.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/change"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
	"revtail/cmd/revtail/doctor"
	"revtail/cmd/revtail/envtest"
	"revtail/cmd/revtail/health"
	"revtail/cmd/revtail/history"
	"revtail/cmd/revtail/historydir"
	"revtail/cmd/revtail/keys"
	"revtail/cmd/revtail/manual"
	"revtail/cmd/revtail/memory"
	"revtail/cmd/revtail/objects"
	"revtail/cmd/revtail/open"
	"revtail/cmd/revtail/serve"
	"revtail/cmd/revtail/snapshot"
	"revtail/cmd/revtail/token"
	"revtail/cmd/revtail/top"
	"revtail/cmd/revtail/version"
	"revtail/etcdstore/embedded"
	"revtail/gateway/config/buildinfo"
)

// memProfileRate is the number of allocated bytes per sample of the heap profile. It is eight times the default of the runtime,
// because sampling at the default rate takes 1/60 of the processor time of a write.
const memProfileRate = 4 << 20

func main() {
	runtime.MemProfileRate = memProfileRate
	memory.SetLimit()
	memory.StartPacer()
	newCommand := newRootCommand
	switch strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") {
	case envtest.Etcd:
		embedded.Main(envtest.EtcdArgs(os.Args))
		return
	case envtest.APIServer:
		newCommand = func() *cobra.Command { return envtest.NewAPIServerCommand(newRootCommand) }
	}
	os.Exit(run(context.Background(), newCommand(), os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command line of a command and returns the exit code.
func run(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
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
	_, _ = fmt.Fprintf(stderr, "%s: %v\n", root.Name(), failure) // the exit code reports the failure too
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

// newHistoryCommand returns the command history, with the commands that work on the directory of a journal below it.
func newHistoryCommand() *cobra.Command {
	cmd := history.NewCommand()
	cmd.AddCommand(historydir.Commands()...)
	return cmd
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "revtail",
		Short:         "The list-watch protocol of Kubernetes for any etcd, over HTTP",
		SilenceErrors: true, // run prints errors
		SilenceUsage:  true,
	}
	root.SetUsageFunc(command.PrintUsage)
	root.SetFlagErrorFunc(command.ExplainFlagError)
	build := buildinfo.Get()
	root.Version = version.Line(build)
	command.AddCommands(root,
		serve.NewCommand(build), open.NewCommand(), envtest.NewCommand(),
		objects.NewWatchCommand(), objects.NewGetCommand(),
		newHistoryCommand(), history.NewBlameCommand(), history.NewLogCommand(),
		change.NewDiffCommand(), change.NewApplyCommand(), change.NewEditCommand(), change.NewRestoreCommand(), change.NewUndoCommand(), change.NewDeleteCommand(),
		keys.NewCommand(),
		doctor.NewCommand(build), health.NewCommand(), snapshot.NewCommand(), token.NewCommand(), top.NewCommand(),
		version.NewCommand(build), manual.NewCommand(build))
	completion.AddCommand(root)
	completion.NoFiles(root)
	return root
}
