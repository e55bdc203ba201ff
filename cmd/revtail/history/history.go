package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
	"revtail/cmd/revtail/history/historyapi"
)

// historian is one run of the command history.
type historian struct {
	session
	output
	interval

	last int // changes; zero: all
}

// NewCommand returns the command history.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "history (RESOURCE NAME | RESOURCE/NAME)",
		GroupID: command.GroupRead,
		Short:   "Print each change of an object: when, by which field manager, and of which fields",
		Long: `Print each change of an object that the gateway has recorded, in one line, the oldest first. The gateway needs --history-dir. With --last 3 they
are the last three, for which the gateway reads no others.

TIME is local, and MANAGER is the field manager that the managedFields of the object tell, as kubectl or kube-controller-manager. FIELDS are those
that differ, shortened to the width of the terminal; --output wide prints all, and whether the change was one of a subresource. --patch prints the
differences as YAML, in the unified format, without managedFields, resourceVersion and generation. The history of an object that was
deleted and created again has all of its lives.

The gateway does not know what happened while etcd was compacted and no gateway recorded: a line says between which revisions.

With --output json each line is one of GET /v1/history, with the object after the change; the last line has the type END, the oldest
recorded revision, and through, the newest one. Values of Secrets are redacted, unless --redact none is given: equal values have equal digests.

The commands below it work on the directory of --history-dir of a gateway that is stopped.

Exit codes: 0 printed; 1 refused or failed, or nothing is known of the object; 2 wrong command line.`,
		Example: `  revtail history deploy/web -n shop
  revtail history configmap web -p --since 1h
  revtail history deploy/web --last 3 -p
  revtail history cm/web --since 02:00 --until 02:30 -o json`,
	}
	h := &historian{}
	h.interval.addFlags(cmd)
	cmd.Flags().IntVar(&h.last, "last", 0, "only the last `n` changes; 0: all")
	h.output.addFlags(cmd)
	h.session.addFlags(cmd)
	cmd.Args = cobra.ArbitraryArgs // RunE checks them
	cmd.ValidArgsFunction = completion.Objects(&h.gateway, nil)
	cmd.RunE = command.AnyArgs(h.run)
	return cmd
}

func (h *historian) run(cmd *cobra.Command, args []string) error {
	if err := errors.Join(h.output.check(), historyapi.CheckInterval(h.since, h.until)); err != nil {
		return usageError(cmd, err)
	}
	if h.last < 0 {
		return usageError(cmd, fmt.Errorf("--last %d: want a number of changes, or 0 for all", h.last))
	}
	if err := client.CheckObject(cmd.CommandPath(), args); err != nil {
		return usageError(cmd, withCommands(cmd, err))
	}
	object, err := h.object(cmd, args)
	if err != nil {
		return err
	}
	defer h.client.Close()
	p := &printer{session: &h.session, output: h.output, out: cmd.OutOrStdout(), width: command.Width(cmd.OutOrStdout())}
	reader := &historyapi.Reader{Client: h.client, Query: historyapi.Query{
		Resource: object.Resource, Namespace: object.Namespace, Name: object.Name,
		Since: h.since.Query(), Until: h.until.Query(), Previous: h.patch,
	}}
	printed, err := h.print(cmd.Context(), p, reader)
	switch {
	case err != nil:
		return err
	case h.format == "json":
		return printEnd(p, reader.End)
	case !printed:
		return h.reportNone(cmd, object, reader.End)
	}
	return nil
}

// withCommands adds the commands below cmd to an error about its arguments.
func withCommands(cmd *cobra.Command, err error) error {
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	if len(names) == 0 {
		return err
	}
	return fmt.Errorf("%w, or one of the commands %s", err, strings.Join(names, ", "))
}

// entries returns the entries that are printed, in the order of their revisions.
func (h *historian) entries(ctx context.Context, reader *historyapi.Reader) iter.Seq2[historyapi.Entry, error] {
	if h.last == 0 {
		return reader.Entries(ctx)
	}
	return func(yield func(historyapi.Entry, error) bool) {
		reader.Query.Descending, reader.Query.Limit = true, min(h.last, maxPage)
		var found []historyapi.Entry
		left := h.last
		for e, err := range reader.Entries(ctx) {
			if err != nil {
				yield(e, err)
				return
			}
			if found = append(found, e); !e.IsGap() {
				left--
			}
			if left == 0 {
				break
			}
		}
		for _, e := range slices.Backward(found) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// maxPage bounds the changes of a page of --last.
const maxPage = 200

// print prints the entries, and reports whether there was any.
func (h *historian) print(ctx context.Context, p *printer, reader *historyapi.Reader) (printed bool, err error) {
	for e, failed := range h.entries(ctx, reader) {
		if failed != nil {
			return printed, failed
		}
		if !printed {
			printed = true
			if err := p.header(); err != nil {
				return printed, err
			}
			if e.Type == "MODIFIED" && h.since.IsZero() && h.last == 0 && h.format != "json" {
				var out bytes.Buffer
				p.note(&out, fmt.Sprintf("changes before revision %d are not known", e.Revision))
				if _, err := p.out.Write(out.Bytes()); err != nil {
					return printed, err
				}
			}
		}
		if err := p.entry(reader.Query.Resource, e); err != nil {
			return printed, err
		}
	}
	return printed, nil
}

// printEnd prints the last line of --output json.
func printEnd(p *printer, end historyapi.End) error {
	last := map[string]any{"type": "END", "oldest": end.Oldest, "through": end.Through}
	if !end.OldestTime.IsZero() {
		last["oldestTime"] = end.OldestTime
	}
	text, err := json.Marshal(last)
	if err == nil {
		_, err = fmt.Fprintf(p.out, "%s\n", text)
	}
	return err
}

// reportNone says what is known of an object without changes in the interval.
func (h *historian) reportNone(cmd *cobra.Command, q client.Query, end historyapi.End) error {
	name := fullName(q.Resource, q.Namespace, q.Name)
	recorded := recordedSince(end)
	_, err := h.client.Read(cmd.Context(), q)
	switch {
	case client.HasCode(err, http.StatusNotFound) && h.since.IsZero() && h.until.IsZero():
		return fmt.Errorf("%s does not exist, and no change of it is known: %s", name, recorded)
	case err != nil && !client.HasCode(err, http.StatusNotFound):
		return fmt.Errorf("%s: no change is known, and the object cannot be read: %w", name, err)
	case h.since.IsZero() && h.until.IsZero():
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s has not changed: %s.\n", name, recorded)
		return err
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "No changes of %s in this time: %s.\n", name, recorded)
	return err
}

// recordedSince says what the history has.
func recordedSince(end historyapi.End) string {
	text := fmt.Sprintf("changes are recorded since revision %d", end.Oldest)
	if !end.OldestTime.IsZero() {
		text += " (" + localTime(end.OldestTime) + ")"
	}
	return text
}
