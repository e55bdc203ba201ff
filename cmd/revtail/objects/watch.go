package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
)

var watchOutputs = []string{"diff", "json", "name"}

// NewWatchCommand returns the command watch.
func NewWatchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch" + argsUsage,
		Short: "Follow the changes of objects, and print their differences",
		Long: `Follow the changes of the objects of a resource, or of one object, and print what differs.

The watch resumes after lost connections and restarts, on any gateway of the same etcd, after the last revision it has seen: it
prints each change once. If etcd has compacted the changes in between, it says so, and prints the differences of the states
before and after. SIGINT ends it.

--exec runs a shell command for each event, one after the other, with the object on its standard input and with EVENT_TYPE,
EVENT_RESOURCE, EVENT_NAMESPACE, EVENT_NAME and EVENT_REVISION in its environment.

  revtail watch configmaps -A
  revtail watch cm coredns -n kube-system --exec 'jq -r .data.Corefile > Corefile'
  revtail watch pods -l app=web -o json --since 4711`,
	}
	w := &watcher{}
	w.add(cmd, watchOutputs...)
	cmd.Flags().Int64Var(&w.query.Revision, "since", 0, "begin with the changes after a `revision`; 0: now")
	cmd.Flags().BoolVar(&w.initial, "initial", false, "begin with the existing objects, as ADDED")
	cmd.Flags().StringVar(&w.exec, "exec", "", "shell `command` to run for each event")
	cmd.Flags().StringVar(&w.color, "color", "auto", "colours: auto (on a terminal, unless NO_COLOR is set), always or never")
	cmd.RunE = command.MaxArgs(2, w.run)
	return cmd
}

// watcher is one run of the command watch.
type watcher struct {
	flags
	initial bool
	exec    string
	color   string

	printer        eventPrinter
	stdout, stderr io.Writer
}

func (w *watcher) run(cmd *cobra.Command, args []string) error {
	w.stdout, w.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	colored, err := useColor(w.color, w.stdout)
	if err != nil {
		return command.UsageError(err)
	}
	c, err := w.connect(cmd, args, watchOutputs...)
	if err != nil && cmd.Context().Err() != nil {
		return nil // a signal came before the watch began
	}
	if err != nil {
		return err
	}
	defer c.Close()
	w.printer = eventPrinter{output: w.output, resource: w.query.Resource, colored: colored}
	since := w.query.Revision
	follower := &client.Follower{
		Client: c, Query: w.query, OnNotice: w.notice,
		OnList:  func(list client.List) error { return w.onList(cmd.Context(), list) },
		OnEvent: func(e client.Event) error { return w.onEvent(cmd.Context(), e) },
	}
	return explainRevision(follower.Run(cmd.Context()), since)
}

func (w *watcher) notice(text string) {
	_, _ = fmt.Fprintf(w.stderr, "revtail: %s\n", text) // the watch continues without its notices
}

func (w *watcher) onList(ctx context.Context, list client.List) error {
	w.notice(fmt.Sprintf("watching %s: %d after revision %d", w.query.Resource.QualifiedName(), len(list.Objects), list.Revision))
	if !w.initial {
		return nil
	}
	for _, o := range list.Objects {
		if err := w.onEvent(ctx, client.Event{Type: "ADDED", Object: o}); err != nil {
			return err
		}
	}
	return nil
}

// onEvent prints an event in a single write, and runs the command of --exec for it.
func (w *watcher) onEvent(ctx context.Context, e client.Event) error {
	text, err := w.printer.format(e)
	if err == nil {
		_, err = w.stdout.Write(text)
	}
	if err != nil || w.exec == "" {
		return err
	}
	return w.execute(ctx, e)
}

// execGrace is the time that the command of --exec has to end after SIGINT.
const execGrace = 5 * time.Second

// execute runs the command of --exec for an event. A nonzero exit status of the command does not end the watch.
func (w *watcher) execute(ctx context.Context, e client.Event) error {
	child := exec.CommandContext(ctx, "sh", "-c", w.exec)
	child.Stdin, child.Stdout, child.Stderr = bytes.NewReader(append(bytes.Clone(e.Object.JSON), '\n')), w.stdout, w.stderr
	child.Env = append(os.Environ(), "EVENT_TYPE="+e.Type, "EVENT_RESOURCE="+w.query.Resource.QualifiedName(),
		"EVENT_NAMESPACE="+e.Object.Namespace, "EVENT_NAME="+e.Object.Name, "EVENT_REVISION="+strconv.FormatInt(e.Object.Revision, 10))
	child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
	child.WaitDelay = execGrace
	err := child.Run()
	failed := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // a signal ends the watch
	case err == nil:
		return nil
	case errors.As(err, &failed):
		w.notice(fmt.Sprintf("--exec for %s: %v", w.query.Resource.ObjectName(e.Object.Name), err))
		return nil
	}
	return fmt.Errorf("--exec: %w", err)
}
