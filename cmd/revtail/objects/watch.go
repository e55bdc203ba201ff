package objects

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
	"revtail/cmd/revtail/completion"
	"revtail/cmd/revtail/diff"
	"revtail/cmd/revtail/history/historyapi"
)

// NewWatchCommand returns the command watch.
func NewWatchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "watch " + client.ArgsUsage,
		GroupID: command.GroupRead,
		Short:   "Follow the changes of objects, and print their differences",
		Long: `Follow the changes of the objects of one or more resources, or of some objects by name, and print what differs.

The watch resumes after lost connections and restarts, on any gateway of the same etcd, after the last revision it has seen: it
prints each change once. If etcd has compacted the changes in between, it says so, and prints the differences of the states
before and after. SIGINT ends it.

--exec runs a shell command for each event, one after the other, with the object on its standard input and with EVENT_TYPE,
EVENT_RESOURCE, EVENT_NAMESPACE, EVENT_NAME and EVENT_REVISION in its environment.

With --until the command replays the changes that the gateway has recorded, and ends: at once, or with --speed 10x in a tenth of the time that they
took. A time without a date is one of today, in the local zone. The gateway needs --history-dir.

With --output json each line is an event, with type and object. The templates of the other formats apply to this event.`,
		Example: `  # the changed fields of all ConfigMaps, and of two resources
  revtail watch configmaps -A
  revtail watch deploy,rs,pods -n shop

  # a file that follows an object
  revtail watch cm coredns -n kube-system --exec 'jq -r .data.Corefile > Corefile'

  # what happened from 02:00 to 02:30 of today, in three minutes
  revtail watch deploy,pods -n shop --since 02:00 --until 02:30 --speed 10x

  # the events after revision 4711, one per line
  revtail watch pods -l app=web -o json --since 4711
  revtail watch pods -o jsonpath='{.type} {.object.metadata.name} {.object.status.phase}{"\n"}'`,
	}
	w := &watcher{}
	set := cmd.Flags()
	w.addSelectors(cmd)
	w.addMoment(cmd, "since", "begin with the changes after a `moment`: "+historyapi.MomentUsage+"; 0: now")
	set.Var(&w.until, "until", "replay the recorded changes until a `moment`, as --since, and end; the gateway needs --history-dir")
	set.Var(&w.speed, "speed", "replay with the `times` between the changes: 1x as they were, 10x ten times as fast; none: at once")
	set.BoolVar(&w.initial, "initial", false, "begin with the existing objects, as ADDED")
	w.addFlags(cmd, "diff", "json", "name", "table", "wide")
	set.StringVar(&w.color, "color", "auto", "colours: auto (on a terminal, unless NO_COLOR is set), always or never")
	set.StringVar(&w.exec, "exec", "", "shell `command` to run for each event")
	w.gateway.AddFlags(set)
	w.completeArgs(cmd)
	completion.Values(cmd, "color", "auto", "always", "never")
	cmd.RunE = command.AnyArgs(w.run)
	return cmd
}

// watcher is one run of the command watch.
type watcher struct {
	flags
	printing
	initial bool
	exec    string
	color   string
	until   historyapi.Moment
	speed   historyapi.Speed

	events         *eventWriter
	printer        eventPrinter // of the format diff
	stdout, stderr io.Writer
}

func (w *watcher) run(cmd *cobra.Command, args []string) error {
	w.stdout, w.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	colored, err := command.UseColor(w.color, w.stdout)
	if err == nil {
		err = errors.Join(w.parse(), w.checkReplay(cmd))
	}
	if err != nil {
		return usageError(cmd, err)
	}
	c, err := w.connect(cmd, args)
	if err != nil && cmd.Context().Err() != nil {
		return nil // a signal came before the watch began
	}
	if err != nil {
		return err
	}
	defer c.Close()
	w.printer = eventPrinter{Printer: diff.Printer{Colored: colored}}
	if !w.until.IsZero() {
		return w.replay(cmd.Context(), c)
	}
	w.events = newEventWriter(&w.printing, w.stdout, true)
	w.query.Rows, w.query.Objects = w.isTable(), w.isTable()
	var queries []client.Query
	for _, target := range w.targets {
		w.events.addResource(target.Resource, len(w.targets) > 1, w.allNamespaces)
		queries = append(queries, w.queries(target)...)
	}
	ctx := cmd.Context()
	return w.explainMoment(followAll(ctx, c, queries, observer{
		onLists:  func(lists []client.List) error { return w.onLists(ctx, queries, lists) },
		onEvent:  func(q client.Query, e client.Event) error { return w.onEvent(ctx, q, e) },
		onNotice: w.notice,
	}))
}

func (w *watcher) notice(text string) {
	_, _ = fmt.Fprintf(w.stderr, "revtail: %s\n", text) // the watch continues without its notices
}

func (w *watcher) onLists(ctx context.Context, queries []client.Query, lists []client.List) error {
	for i, list := range lists {
		q := queries[i]
		watched := q.Resource.QualifiedName()
		if q.Name != "" && len(queries) > 1 {
			watched = q.Resource.ObjectName(q.Name)
		}
		w.notice(fmt.Sprintf("watching %s: %d after revision %d", watched, len(list.Objects), list.Revision))
		w.events.setColumns(q.Resource, list.Columns)
		if !w.initial {
			continue
		}
		for _, o := range list.Objects {
			if err := w.onEvent(ctx, q, client.Event{Type: "ADDED", Object: o}); err != nil {
				return err
			}
		}
	}
	return nil
}

// onEvent prints an event, and runs the command of --exec for it.
func (w *watcher) onEvent(ctx context.Context, q client.Query, e client.Event) error {
	if err := w.print(q.Resource, e); err != nil || w.exec == "" {
		return err
	}
	return w.execute(ctx, q.Resource, e)
}

// print prints an event in a single write.
func (w *watcher) print(r client.Resource, e client.Event) (err error) {
	var text []byte
	switch w.format {
	case "diff":
		text, err = w.printer.format(r, e)
	case "json":
		text, err = marshal(struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}{e.Type, e.Object.JSON})
	case "name":
		text = []byte(r.ObjectName(e.Object.Name) + "\n")
	default:
		return w.events.print(r, e)
	}
	if err == nil {
		_, err = w.stdout.Write(text)
	}
	return err
}

// execGrace is the time that the command of --exec has to end after SIGINT.
const execGrace = 5 * time.Second

// execute runs the command of --exec for an event. A nonzero exit status of the command does not end the watch.
func (w *watcher) execute(ctx context.Context, r client.Resource, e client.Event) error {
	child := exec.CommandContext(ctx, "sh", "-c", w.exec)
	child.Stdin, child.Stdout, child.Stderr = bytes.NewReader(append(bytes.Clone(e.Object.JSON), '\n')), w.stdout, w.stderr
	child.Env = append(os.Environ(), "EVENT_TYPE="+e.Type, "EVENT_RESOURCE="+r.QualifiedName(),
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
		w.notice(fmt.Sprintf("--exec for %s: %v", r.ObjectName(e.Object.Name), err))
		return nil
	}
	return fmt.Errorf("--exec: %w", err)
}
