package keys

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/diff"
	"revtail/cmd/revtail/keys/keyapi"
)

var watchOutputs = []string{"diff", "json", "value", "key"}

// watcher is one run of the command watch.
type watcher struct {
	session
	keyapi.Follower
	color  string
	colors diff.Printer
	stdout io.Writer
	stderr io.Writer
}

func newWatchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch KEY|PREFIX/...",
		Short: "Follow the changes of keys and prefixes, and print their differences",
		Long: `Follow the changes of keys and prefixes, up to 32 of them, and print what differs.

The watch resumes after lost connections and restarts, on any gateway of the same etcd, after the last revision it has seen: it prints
each change once. If etcd has compacted the changes in between, it says so, and prints the differences of the states before and after.
SIGINT ends it.

diff prints the lines of the values that differ, json the events of the gateway's API, one a line, value the new values, and key the
names of the keys. json and value show JSON without its white space.` + exitCodes,
		Example: `  revtail keys watch /app/
  revtail keys watch /app/config/ /app/flags --since 4711
  revtail keys watch /app/ --filter 'value.replicas > 3' -o json --prev`,
	}
	w := &watcher{}
	set := cmd.Flags()
	set.Int64Var(&w.Since, "since", 0, "begin with the changes after a `revision`; 0: now")
	set.BoolVar(&w.Initial, "initial", false, "begin with the existing keys, as PUT")
	set.BoolVar(&w.Prev, "prev", false, "with -o json: the previous value too")
	set.StringVar(&w.Filter, "filter", "", "CEL `expression` that is true for the keys, as 'value.replicas > 3'; its variables are value, old, key and type")
	set.StringVar(&w.Fields, "fields", "", "comma-separated `paths` in the values: print only these, as replicas,spec.image")
	set.StringVar(&w.color, "color", "auto", "colours: auto (on a terminal, unless NO_COLOR is set), always or never")
	w.addFlags(cmd, watchOutputs...)
	w.addKeyFlags(cmd, true)
	cmd.RunE = command.AnyArgs(w.run)
	return cmd
}

// maxRanges is how many keys and prefixes a watch of the gateway can have.
const maxRanges = 32

func (w *watcher) run(cmd *cobra.Command, args []string) error {
	w.stdout, w.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	colored, err := command.UseColor(w.color, w.stdout)
	if err != nil {
		return command.UsageError(err)
	}
	w.colors.Colored = colored
	if w.Ranges, err = w.keys(cmd, args, "/app/"); err != nil {
		return err
	}
	switch {
	case len(args) > maxRanges:
		return usageError(cmd, "%d keys and prefixes are given: %d are the limit of a watch", len(args), maxRanges)
	case w.Since < 0:
		return usageError(cmd, "--since %d: want the revision after which the changes begin, as keys ls shows it", w.Since)
	case w.Since > 0 && w.Initial:
		return usageError(cmd, "--since begins with past changes, and --initial with the existing keys: leave one of them out")
	case w.Prev && w.output != "json":
		return usageError(cmd, "--prev is for -o json; diff shows the previous values anyway")
	}
	if err := w.connect(cmd, watchOutputs...); err != nil {
		return err
	}
	defer w.Close()
	w.Follower.Client = w.session.Client
	w.Prev = w.Prev || w.output == "diff"
	w.OnEvent, w.OnNotice = w.print, w.notice
	err = w.Run(cmd.Context())
	if w.Since > 0 && client.HasCode(err, http.StatusGone) {
		return fmt.Errorf("--since %d: %w", w.Since, err)
	}
	return err
}

func (w *watcher) notice(text string) {
	_, _ = fmt.Fprintf(w.stderr, "revtail: %s\n", text) // the watch continues without its notices
}

// print prints an event in a single write.
func (w *watcher) print(e keyapi.Event) error {
	var out bytes.Buffer
	var err error
	switch w.output {
	case "json":
		out.Write(e.Line)
		out.WriteByte('\n')
	case "key":
		fmt.Fprintln(&out, e.String())
	case "value":
		if e.Type == "DELETE" {
			return nil
		}
		var content []byte
		if content, err = e.Bytes(); err == nil {
			out.Write(content)
			if !bytes.HasSuffix(content, []byte("\n")) {
				out.WriteByte('\n')
			}
		}
	default:
		err = w.printDiff(&out, e)
	}
	if err == nil {
		_, err = w.stdout.Write(out.Bytes())
	}
	return err
}

var typeColors = map[string]string{"PUT": diff.Green, "DELETE": diff.Red}

func (w *watcher) printDiff(out *bytes.Buffer, e keyapi.Event) error {
	w.colors.Text(out, typeColors[e.Type], fmt.Sprintf("%-6s", e.Type))
	fmt.Fprintf(out, " %s", command.Printable(e.String()))
	details := fmt.Sprintf("revision %d, %s", e.Revision, time.Now().Format(time.TimeOnly))
	if e.Inferred {
		details += ", found by comparing"
	}
	w.colors.Text(out, diff.Dim, "  ("+details+")")
	out.WriteByte('\n')
	if e.Type == "DELETE" {
		return nil
	}
	content, err := e.Bytes()
	if err != nil {
		return err
	}
	var before []byte
	if e.Prev != nil {
		if before, err = e.Prev.Bytes(); err != nil {
			return err
		}
	}
	lines, err := diffValues(before, content, e.Prev != nil)
	w.colors.Lines(out, lines)
	return err
}
