package keys

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/keys/keyapi"
)

// deleter is one run of the command del.
type deleter struct {
	session
	condition
	prefix         bool
	recursive      bool
	yes            bool
	dryRun         bool
	ignoreNotFound bool
}

func newDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "del KEY | del PREFIX/ --prefix",
		Aliases: []string{"delete", "rm"},
		Short:   "Delete a key, or all keys of a prefix",
		Long: `Delete a key, or with --prefix all keys that begin with a prefix, and print how many, and the revision.

On a terminal, the deletion of a prefix says how many keys it has, and asks. --dry-run deletes nothing: it prints the keys, after the
gateway has checked that the caller may delete them.` + exitCodes,
		Example: `  revtail keys del /app/config/theme
  revtail keys del /app/config/theme --if-revision 7
  revtail keys del /app/old/ --prefix --dry-run
  revtail keys del /app/old/ --prefix --yes`,
	}
	d := &deleter{}
	set := cmd.Flags()
	set.BoolVar(&d.prefix, "prefix", false, "delete all keys that begin with the prefix")
	set.BoolVarP(&d.recursive, "recursive", "R", false, "the same as --prefix")
	set.Int64Var(&d.revision, "if-revision", 0, "delete only if this is the `revision` of the last write to the key")
	set.BoolVarP(&d.yes, "yes", "y", false, "do not ask")
	set.BoolVar(&d.dryRun, "dry-run", false, "delete nothing, and print the keys that would go")
	set.BoolVar(&d.ignoreNotFound, "ignore-not-found", false, "succeed if there is no such key")
	d.addFlags(cmd, writeOutputs...)
	d.addKeyFlags(cmd, false)
	cmd.RunE = command.MaxArgs(1, d.run)
	return cmd
}

func (d *deleter) run(cmd *cobra.Command, args []string) error {
	keys, err := d.keys(cmd, args, "/app/config/theme")
	if err != nil {
		return err
	}
	key := keys[0]
	if err := d.checkFlags(cmd, key); err != nil {
		return err
	}
	if err := d.connect(cmd, writeOutputs...); err != nil {
		return err
	}
	defer d.Close()
	if d.dryRun {
		return d.show(cmd, key)
	}
	if goOn, err := d.confirm(cmd, key); err != nil || !goOn {
		return err
	}
	values := keyapi.Query(key)
	if keyapi.IsPrefix(key) {
		values.Set("prefix", "true")
	}
	var answer json.RawMessage
	err = d.Call(cmd.Context(), client.Request{Method: http.MethodDelete, Path: keyapi.Path, Query: values, Header: d.header()}, &answer)
	if d.ignoreNotFound && client.HasCode(err, http.StatusNotFound) {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "deleted 0")
		return err
	}
	if err != nil {
		return d.explain(cmd.Context(), &d.session, key, err)
	}
	return d.printAnswer(cmd, answer)
}

func (d *deleter) checkFlags(cmd *cobra.Command, key string) error {
	all := d.prefix || d.recursive
	switch {
	case keyapi.IsPrefix(key) && !all:
		return usageError(cmd, "%q ends with /, which makes it a prefix: to delete all keys that begin with it, add --prefix", key)
	case !keyapi.IsPrefix(key) && all:
		return usageError(cmd, "--prefix is for a prefix, which ends with /: %q is one key, and %q a prefix", key, key+"/")
	case cmd.Flags().Changed("if-revision") && d.revision <= 0:
		return usageError(cmd, "--if-revision %d: want the revision of a key, as keys ls shows it", d.revision)
	case keyapi.IsPrefix(key) && d.revision > 0:
		return usageError(cmd, "--if-revision is for one key, and %q is a prefix: use keys txn", key)
	}
	return nil
}

// confirm asks on a terminal before it deletes a prefix.
func (d *deleter) confirm(cmd *cobra.Command, key string) (bool, error) {
	if !keyapi.IsPrefix(key) || d.yes || !command.CanAsk(cmd) {
		return true, nil
	}
	count, revision, err := d.Count(cmd.Context(), key, 0)
	if err != nil {
		return false, err
	}
	if count == 0 {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "deleted 0: no keys begin with %q at revision %d\n", key, revision)
		return false, err
	}
	return command.Ask(cmd, fmt.Sprintf("Delete %d %s with %q, for good?", count, beginKeys(count), key))
}

func beginKeys(count int64) string {
	if count == 1 {
		return "key that begins"
	}
	return "keys that begin"
}

func (d *deleter) printAnswer(cmd *cobra.Command, answer json.RawMessage) error {
	if d.output == "json" {
		return printJSON(cmd.OutOrStdout(), answer)
	}
	var read struct{ Revision, Deleted int64 }
	err := json.Unmarshal(answer, &read)
	if err == nil {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "deleted %d, revision %d\n", read.Deleted, read.Revision)
	}
	return err
}

// show prints the keys that would go.
func (d *deleter) show(cmd *cobra.Command, key string) error {
	op := keyapi.TxnOp{Delete: &keyapi.TxnDelete{Name: keyapi.NewName(key), Prefix: keyapi.IsPrefix(key)}}
	probe := key
	if keyapi.IsPrefix(key) {
		probe = key + "x" // a condition is about one key: any of the prefix
	}
	if err := d.CheckWrite(cmd.Context(), probe, op); err != nil {
		return err
	}
	values := keyapi.Query(key)
	values.Set("keysOnly", "true")
	count := 0
	revision, _, err := d.Pages(cmd.Context(), values, 0, func(_ int64, text json.RawMessage) error {
		i, err := keyapi.DecodeItem(text)
		if err == nil {
			err = d.check(key, &i)
		}
		if err == nil {
			count++
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "would delete %s\n", command.Printable(i.String()))
		}
		return err
	})
	if err != nil && (!d.ignoreNotFound || !client.HasCode(err, http.StatusNotFound)) {
		return err
	}
	if keyapi.IsPrefix(key) {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "would delete %d, as of revision %d\n", count, revision)
		return err
	}
	return nil
}
