package keys

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/keys/keyapi"
)

var listOutputs = []string{"table", "key", "json"}

// lister is one run of the command ls.
type lister struct {
	session
	at        string
	recursive bool
}

func newListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "ls [PREFIX/]",
		Aliases: []string{"list"},
		Short:   "List the keys and prefixes of one level, with their numbers and sizes",
		Long: `List the keys and prefixes directly below a prefix, as ls lists a directory; without a prefix, those below /.

KEYS is the number of keys of a prefix; SIZE is the size of a value in bytes; REVISION is that of the last write to the key. -R lists
the keys of all levels.` + exitCodes,
		Example: `  revtail keys ls
  revtail keys ls /app/ --at -10m
  revtail keys ls /app/ -R -o key`,
	}
	l := &lister{}
	set := cmd.Flags()
	set.StringVar(&l.at, "at", "", "the `state` at a revision, a time ago or a time: 4711, -10m or 2026-11-21T10:00:00Z")
	set.BoolVarP(&l.recursive, "recursive", "R", false, "list the keys of all levels")
	l.addFlags(cmd, listOutputs...)
	l.addKeyFlags(cmd, false)
	cmd.RunE = command.MaxArgs(1, l.run)
	return cmd
}

func (l *lister) run(cmd *cobra.Command, args []string) error {
	prefix := "/"
	if len(args) > 0 {
		keys, err := l.keys(cmd, args, "/app/")
		if err != nil {
			return err
		}
		prefix = keys[0]
	}
	if !keyapi.IsPrefix(prefix) {
		return usageError(cmd, "%q is one key: want a prefix, which ends with /, as %s/", prefix, prefix)
	}
	if err := checkAt(cmd, l.at); err != nil {
		return err
	}
	if err := l.connect(cmd, listOutputs...); err != nil {
		return err
	}
	defer l.Close()
	out := newListPrinter(cmd, l, prefix)
	values := keyapi.Query(prefix)
	if l.at != "" {
		values.Set("at", l.at)
	}
	switch {
	case l.recursive && l.output == "key":
		values.Set("keysOnly", "true")
	case l.recursive:
		values.Set("encoding", "base64")
	default:
		values.Set("depth", "1")
	}
	revision, _, err := l.Pages(cmd.Context(), values, 0, func(revision int64, text json.RawMessage) error {
		i, err := keyapi.DecodeItem(text)
		if err != nil {
			return err
		}
		return out.add(revision, i)
	})
	if err == nil {
		err = out.end(revision)
	}
	if err == nil && out.listed == 0 {
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), "revtail: no keys begin with %q at revision %d\n", prefix, revision)
	}
	return err
}

// entry is a row of ls.
type entry struct {
	keyapi.Name
	Keys        int64 `json:"keys,omitempty"` // of a prefix
	Size        int64 `json:"size"`           // of a key
	ModRevision int64 `json:"modRevision,omitempty"`
}

// MarshalJSON leaves out the size of a prefix.
func (e entry) MarshalJSON() ([]byte, error) {
	if e.Keys > 0 {
		return json.Marshal(struct {
			keyapi.Name
			Keys int64 `json:"keys"`
		}{e.Name, e.Keys})
	}
	type plain entry
	return json.Marshal(plain(e))
}

// listPrinter prints the entries of ls in batches: a batch is complete when the numbers and sizes of its entries are known.
type listPrinter struct {
	*lister
	cmd      *cobra.Command
	prefix   string
	table    *tabwriter.Writer
	entries  []entry
	listed   int
	revision int64
}

func newListPrinter(cmd *cobra.Command, l *lister, prefix string) *listPrinter {
	return &listPrinter{lister: l, cmd: cmd, prefix: prefix, table: tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 3, ' ', 0)}
}

func (p *listPrinter) add(revision int64, i keyapi.Item) error {
	e := entry{Name: i.Name, ModRevision: i.ModRevision}
	if i.Encoding != "" {
		content, err := i.Bytes()
		if err != nil {
			return err
		}
		e.Size = int64(len(content))
	}
	p.revision = revision
	p.entries = append(p.entries, e)
	if len(p.entries) == tableFlush {
		return p.flush()
	}
	return nil
}

func (p *listPrinter) end(revision int64) error {
	p.revision = revision
	if err := p.flush(); err != nil {
		return err
	}
	if p.output != "json" {
		return nil
	}
	if p.listed == 0 {
		_, err := fmt.Fprintf(p.cmd.OutOrStdout(), "{\"revision\":%d,\"items\":[]}\n", revision)
		return err
	}
	_, err := fmt.Fprintln(p.cmd.OutOrStdout(), "\n]}")
	return err
}

// flush completes and prints the entries.
func (p *listPrinter) flush() error {
	if !p.recursive && p.output != "key" {
		if err := p.complete(); err != nil {
			return err
		}
	}
	for _, e := range p.entries {
		if err := p.print(e); err != nil {
			return err
		}
	}
	p.entries = p.entries[:0]
	return p.table.Flush()
}

// maxParallel is how many requests for numbers and sizes are in flight.
const maxParallel = 8

// complete asks for the numbers of keys of the prefixes, and for the sizes of the keys.
func (p *listPrinter) complete() error {
	requests, ctx := errgroup.WithContext(p.cmd.Context())
	requests.SetLimit(maxParallel)
	for i := range p.entries {
		e := &p.entries[i]
		requests.Go(func() (err error) {
			if keyapi.IsPrefix(e.String()) {
				e.Keys, _, err = p.Count(ctx, e.String(), p.revision)
				return err
			}
			e.Size, err = p.size(ctx, e.String())
			return err
		})
	}
	return requests.Wait()
}

// size returns the size of a value in bytes.
func (p *listPrinter) size(ctx context.Context, key string) (int64, error) {
	i, err := p.Read(ctx, key, p.revision)
	if i == nil || err != nil {
		return 0, err
	}
	content, err := i.Bytes()
	return int64(len(content)), err
}

func (p *listPrinter) print(e entry) error {
	p.listed++
	switch p.output {
	case "key":
		_, err := fmt.Fprintln(p.cmd.OutOrStdout(), e.String())
		return err
	case "json":
		lead := ",\n  "
		if p.listed == 1 {
			lead = fmt.Sprintf("{\"revision\":%d,\"items\":[\n  ", p.revision)
		}
		text, err := json.Marshal(e)
		if err == nil {
			_, err = fmt.Fprintf(p.cmd.OutOrStdout(), "%s%s", lead, text)
		}
		return err
	}
	if p.listed == 1 {
		if _, err := fmt.Fprintln(p.table, "NAME\tKEYS\tSIZE\tREVISION"); err != nil {
			return err
		}
	}
	keys, size, revision := "-", "-", "-"
	if keyapi.IsPrefix(e.String()) {
		keys = strconv.FormatInt(e.Keys, 10)
	} else {
		size, revision = strconv.FormatInt(e.Size, 10), strconv.FormatInt(e.ModRevision, 10)
	}
	_, err := fmt.Fprintf(p.table, "%s\t%s\t%s\t%s\n", tableName(strings.TrimPrefix(e.String(), p.prefix)), keys, size, revision)
	return err
}
