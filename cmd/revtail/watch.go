package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	"revtail/cmd/revtail/diff"
)

var watchOutputs = []string{"diff", "json", "name"}

func newWatchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch" + remoteUse,
		Short: "Follow what happens to objects, with what has changed in them",
		Long: `Follow what happens to the objects of a resource, or to one of them, and show what has changed in them.

It goes on after lost connections and restarts, on any gateway of the same etcd, from the last revision it has seen: no
change is left out and none is told twice. Where etcd has no history of the time in between, it says so, and what has changed
is found by comparing. SIGINT ends it.

--exec runs a shell command for each event, one after the other, with the object on its standard input and with EVENT_TYPE,
EVENT_RESOURCE, EVENT_NAMESPACE, EVENT_NAME and EVENT_REVISION in its environment.

  revtail watch configmaps -A
  revtail watch cm coredns -n kube-system --exec 'jq -r .data.Corefile > Corefile'
  revtail watch pods -l app=web -o json --since 4711`,
	}
	w := &watchVerb{}
	w.addFlags(cmd, watchOutputs...)
	cmd.Flags().Int64Var(&w.query.Revision, "since", 0, "begin with what has changed after a `revision`; 0: now")
	cmd.Flags().BoolVar(&w.initial, "initial", false, "begin with the objects that are there, as ADDED")
	cmd.Flags().StringVar(&w.exec, "exec", "", "shell `command` to run for each event")
	cmd.Flags().StringVar(&w.color, "color", "auto", "colours: auto (on a terminal, unless NO_COLOR is set), always or never")
	cmd.RunE = command.MaxArgs(2, w.run)
	return cmd
}

// watchVerb is one run of the subcommand.
type watchVerb struct {
	remote
	initial bool
	exec    string
	color   string

	paint          bool
	stdout, stderr io.Writer
}

func (w *watchVerb) run(cmd *cobra.Command, args []string) error {
	w.stdout, w.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	switch w.color {
	case "auto":
		w.paint = command.IsTerminal(w.stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	case "always", "never":
		w.paint = w.color == "always"
	default:
		return command.UsageError(fmt.Errorf("--color %q: want auto, always or never", w.color))
	}
	c, err := w.begin(cmd, args, watchOutputs...)
	if err != nil && cmd.Context().Err() != nil {
		return nil // interrupted before anything happened
	}
	if err != nil {
		return err
	}
	defer c.Close()
	since := w.query.Revision
	follower := &client.Follower{
		Client: c, Query: w.query, Notice: w.notice,
		Begin: func(list client.List) error { return w.beginning(cmd.Context(), list) },
		Event: func(e client.Event) error { return w.event(cmd.Context(), e) },
	}
	return explainRevision(follower.Run(cmd.Context()), since)
}

func (w *watchVerb) notice(text string) {
	_, _ = fmt.Fprintf(w.stderr, "revtail: %s\n", text) // there is nobody else to tell
}

func (w *watchVerb) beginning(ctx context.Context, list client.List) error {
	w.notice(fmt.Sprintf("watching %s: %d after revision %d", w.query.Resource.QualifiedName(), len(list.Objects), list.Revision))
	if !w.initial {
		return nil
	}
	for _, o := range list.Objects {
		if err := w.event(ctx, client.Event{Type: "ADDED", Object: o}); err != nil {
			return err
		}
	}
	return nil
}

// event writes an event at once, whole, and runs the command for it.
func (w *watchVerb) event(ctx context.Context, e client.Event) error {
	text, err := w.render(e)
	if err == nil {
		_, err = w.stdout.Write(text)
	}
	if err != nil || w.exec == "" {
		return err
	}
	return w.execute(ctx, e)
}

func (w *watchVerb) render(e client.Event) ([]byte, error) {
	switch w.output {
	case "json":
		return marshal(struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}{e.Type, e.Object.JSON}, "")
	case "name":
		return []byte(w.query.Resource.Of(e.Object.Name) + "\n"), nil
	}
	var out bytes.Buffer
	w.head(&out, e)
	if e.Type == "DELETED" {
		return out.Bytes(), nil
	}
	var before []byte
	if e.Old != nil {
		before = e.Old.JSON
	}
	lines, err := diff.Documents(before, e.Object.JSON, func(path string) bool { return bookkeeping[path] })
	for _, line := range lines {
		w.coloured(&out, colours[line.Op], fmt.Sprintf("%c %s", line.Op, line.Text))
		out.WriteByte('\n')
	}
	return out.Bytes(), err
}

// bookkeeping is what changes with every change, or never.
var bookkeeping = map[string]bool{
	"apiVersion": true, "kind": true, "metadata.managedFields": true, "metadata.resourceVersion": true, "metadata.name": true, "metadata.namespace": true,
}

// Escape sequences of terminals (ECMA-48, SGR).
const (
	red, green, yellow, dim, plain = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[0m"
)

var (
	colours   = map[diff.Op]string{diff.Removed: red, diff.Added: green, diff.Context: dim}
	ofEvents  = map[string]string{"ADDED": green, "MODIFIED": yellow, "DELETED": red}
	clockOnly = "15:04:05"
)

func (w *watchVerb) coloured(out *bytes.Buffer, colour, text string) {
	if w.paint {
		text = colour + text + plain
	}
	out.WriteString(text)
}

func (w *watchVerb) head(out *bytes.Buffer, e client.Event) {
	w.coloured(out, ofEvents[e.Type], fmt.Sprintf("%-8s", e.Type))
	out.WriteString(" " + w.query.Resource.Of(e.Object.Name))
	if e.Object.Namespace != "" {
		out.WriteString(" -n " + e.Object.Namespace)
	}
	about := fmt.Sprintf("revision %d, %s", e.Object.Revision, time.Now().Format(clockOnly))
	if e.Inferred {
		about += ", found by comparing"
	}
	w.coloured(out, dim, "  ("+about+")")
	out.WriteByte('\n')
}

// commandGrace is how long a command may take to end after it was told to.
const commandGrace = 5 * time.Second

// execute runs the command for an event. That it fails is its own matter, and the user's to see.
func (w *watchVerb) execute(ctx context.Context, e client.Event) error {
	child := exec.CommandContext(ctx, "sh", "-c", w.exec)
	child.Stdin, child.Stdout, child.Stderr = bytes.NewReader(append(bytes.Clone(e.Object.JSON), '\n')), w.stdout, w.stderr
	child.Env = append(os.Environ(), "EVENT_TYPE="+e.Type, "EVENT_RESOURCE="+w.query.Resource.QualifiedName(),
		"EVENT_NAMESPACE="+e.Object.Namespace, "EVENT_NAME="+e.Object.Name, "EVENT_REVISION="+strconv.FormatInt(e.Object.Revision, 10))
	child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
	child.WaitDelay = commandGrace
	err := child.Run()
	failed := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // interrupted: Run ends
	case err == nil:
		return nil
	case errors.As(err, &failed):
		w.notice(fmt.Sprintf("--exec for %s: %v", w.query.Resource.Of(e.Object.Name), err))
		return nil
	}
	return fmt.Errorf("--exec: %w", err)
}
