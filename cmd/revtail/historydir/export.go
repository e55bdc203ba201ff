package historydir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/etcdstore/archive"
	"revtail/etcdstore/journal"
)

// partSuffix is added to the name of a file until it is complete.
const partSuffix = ".part"

func newExportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all of a journal as lines of JSON",
		Long: `Write all that the journal of a stopped gateway has, one line of JSON for each state and event, to a file or to standard output. Values are those of
etcd, in base64. 'revtail history import' makes an equal journal of it, on another machine or with another version. The directory stays as it is.

A file whose name ends in .zst or .gz is compressed. 'revtail open' serves a file to be read.

The file has mode 0600, because it has all values, and appears when it is complete. A file that exists is not replaced.`,
		Example: `  revtail history export --history-dir history history.ndjson.zst

  # what happened to a ConfigMap, oldest first
  revtail history export --history-dir history | jq -c 'select(.event.key == "/registry/configmaps/default/one").event | {at, revision, deleted}'`,
	}
	dir := directoryFlag(cmd)
	cmd.RunE = command.MaxArgs(1, func(cmd *cobra.Command, args []string) error {
		file := ""
		if len(args) > 0 && args[0] != "-" {
			file = args[0]
		}
		return withJournal(cmd, *dir, journal.ReadOnly, func(j *journal.Journal) error { return export(cmd, j, file) })
	})
	return cmd
}

func export(cmd *cobra.Command, j *journal.Journal, file string) error {
	bar := command.NewProgress(cmd.ErrOrStderr())
	defer bar.End()
	write := func(w io.Writer) (journal.Summary, error) {
		defer bar.End()
		return j.Export(cmd.Context(), w, bar.Show)
	}
	if file == "" {
		_, err := write(cmd.OutOrStdout())
		return err
	}
	sum, err := writeFile(file, write)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s has %d states and %d events of %d ranges\n", file, sum.States, sum.Events, sum.Ranges)
	return err
}

// writeFile writes a file that appears when it is complete.
func writeFile(name string, write func(io.Writer) (journal.Summary, error)) (sum journal.Summary, err error) {
	if _, err := os.Lstat(name); err == nil {
		return sum, command.UsageError(fmt.Errorf("%s: the file exists: choose another name", name))
	}
	part := name + partSuffix
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return sum, command.UsageError(fmt.Errorf("%s is of an export that runs, or was killed: delete it if none runs", part))
	}
	if err != nil {
		return sum, err
	}
	if sum, err = writeCompressed(f, name, write); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(part, name)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(part))
	}
	return sum, err
}

// writeCompressed writes a file in the form that its name tells.
func writeCompressed(f io.Writer, name string, write func(io.Writer) (journal.Summary, error)) (journal.Summary, error) {
	compressed, err := archive.Compress(f, name)
	if err != nil {
		return journal.Summary{}, err
	}
	sum, err := write(compressed)
	return sum, errors.Join(err, compressed.Close())
}
