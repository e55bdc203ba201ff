package keys

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/keys/keyapi"
)

// getOutputs are the values of --output of get. Empty is value for a key and table for a prefix.
var getOutputs = []string{"", "value", "json", "yaml", "table", "key"}

// getter is one run of the command get.
type getter struct {
	session
	at        string
	filter    string
	fields    string
	keysOnly  bool
	countOnly bool
	limit     int64
}

func newGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get KEY|PREFIX/",
		Short: "Read a key, or all keys of a prefix, as they are now or were in the past",
		Long: `Read a key, or all keys that begin with a prefix, as they are now or were in the past.

The value of one key goes to the standard output byte for byte. On a terminal a newline follows it. A prefix prints a table, in which
long values are shortened; -o value prints the values, each with a newline at its end. json and yaml show values as the gateway's API
does: JSON as JSON, other text as a string, anything else in base64. All pages of a prefix are as of one revision.` + exitCodes,
		Example: `  revtail keys get /app/config/theme > theme.json
  revtail keys get /app/ --at -10m
  revtail keys get /app/ --filter 'value.replicas > 3' --fields replicas,image -o json
  revtail keys get /app/ -o key --limit 20`,
	}
	g := &getter{}
	set := cmd.Flags()
	set.StringVar(&g.at, "at", "", "the `state` at a revision, a time ago or a time: 4711, -10m or 2026-11-21T10:00:00Z")
	set.StringVar(&g.filter, "filter", "", "CEL `expression` that is true for the keys of the prefix, as 'value.replicas > 3'; its variables are value, old, key and type")
	set.StringVar(&g.fields, "fields", "", "comma-separated `paths` in the values: print only these, as replicas,spec.image")
	set.BoolVar(&g.keysOnly, "keys-only", false, "print no values")
	set.BoolVar(&g.countOnly, "count-only", false, "print only the number of keys")
	set.Int64Var(&g.limit, "limit", 0, "print at most this `number` of keys; 0: all")
	g.addFlags(cmd, getOutputs...)
	g.addKeyFlags(cmd, false)
	cmd.RunE = command.MaxArgs(1, g.run)
	return cmd
}

func (g *getter) run(cmd *cobra.Command, args []string) error {
	keys, err := g.keys(cmd, args, "/app/config/theme")
	if err != nil {
		return err
	}
	if err := g.check(cmd, keys[0]); err != nil {
		return err
	}
	if err := g.connect(cmd, getOutputs...); err != nil {
		return err
	}
	defer g.Close()
	values := g.values(keys[0])
	if g.countOnly {
		return g.printCount(cmd, values)
	}
	output := g.output
	if output == "" {
		output = "value"
		if keyapi.IsPrefix(keys[0]) {
			output = "table"
		}
		if g.keysOnly {
			output = "key"
		}
	}
	if g.fields == "" && !g.keysOnly && (output == "value" || output == "table") {
		values.Set("encoding", "base64")
	}
	if output == "key" {
		values.Set("keysOnly", "true")
	}
	p := newPrinter(cmd.OutOrStdout(), output, !keyapi.IsPrefix(keys[0]))
	revision, more, err := g.Pages(cmd.Context(), values, g.limit, p.print)
	if err == nil {
		err = p.end(revision)
	}
	if err != nil {
		return err
	}
	if more {
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), "revtail: more keys follow: these are the first %d, which is --limit\n", g.limit)
	} else if p.printed == 0 {
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), "revtail: no keys begin with %q at revision %d\n", keys[0], revision)
	}
	return err
}

// check refuses flags that make no sense together.
func (g *getter) check(cmd *cobra.Command, key string) error {
	switch {
	case g.limit < 0:
		return usageError(cmd, "--limit %d: want the number of keys, as 100, or 0 for all", g.limit)
	case g.filter != "" && !keyapi.IsPrefix(key):
		return usageError(cmd, "--filter is for a prefix, which ends with /: %q is one key", key)
	case g.keysOnly && g.output == "value":
		return usageError(cmd, "--keys-only prints no values, and -o value prints nothing else: leave one of them out")
	case g.fields != "" && (g.keysOnly || g.countOnly || g.output == "key"):
		return usageError(cmd, "--fields selects parts of values, and --keys-only, --count-only and -o key print none: leave one of them out")
	case g.countOnly && (g.keysOnly || g.limit > 0 || g.output != ""):
		return usageError(cmd, "--count-only prints a number: leave out --keys-only, --limit and --output")
	}
	return checkAt(cmd, g.at)
}

func (g *getter) values(key string) url.Values {
	out := keyapi.Query(key)
	for name, text := range map[string]string{"at": g.at, "filter": g.filter, "fields": g.fields} {
		if text != "" {
			out.Set(name, text)
		}
	}
	if g.keysOnly {
		out.Set("keysOnly", "true")
	}
	return out
}

func (g *getter) printCount(cmd *cobra.Command, values url.Values) error {
	values.Set("count", "true")
	var p keyapi.Page
	err := g.Call(cmd.Context(), client.Request{Path: keyapi.Path, Query: values}, &p)
	if err == nil {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), p.Count)
	}
	return err
}

// cell is a value in one line of a table.
func cell(content []byte) string {
	text := strings.ToValidUTF8(string(content[:min(len(content), 4*maxCell)]), "�")
	text = tableName(strings.TrimRight(text, "\n"))
	if runes := []rune(text); len(runes) > maxCell {
		return string(runes[:maxCell-1]) + "…"
	}
	return text
}

// maxCell is how many characters of a value a table shows.
const maxCell = 60

func lease(i keyapi.Item) string { return cmp.Or(i.Lease, "-") }
