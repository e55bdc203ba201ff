package historydir

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/etcdstore/archive"
	"revtail/etcdstore/journal"
)

func newImportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a journal of an export",
		Long: `Make a journal of the lines that 'revtail history export' has written, from a file, which may be compressed by gzip or zstd, or from standard input with -. The directory must not exist, or be
empty, and appears when the journal is complete. A gateway continues it if its etcd has the same history; otherwise it begins anew, and
keeps what is imported apart. What an import has left that was killed, DIRECTORY.import, is removed.`,
		Example: `  revtail history import --history-dir history.new history.ndjson
  ssh gateway cat history.ndjson.zst | revtail history import --history-dir history.new -`,
	}
	dir := directoryFlag(cmd)
	cmd.RunE = command.MaxArgs(1, func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 || args[0] == "":
			return command.UsageError(fmt.Errorf("want the file of the export, or - for standard input, as in '%s --history-dir history.new history.ndjson'%s", cmd.CommandPath(), command.HelpHint(cmd)))
		case *dir == "":
			return errNoDirectory(cmd)
		case args[0] == "-":
			return importFrom(cmd, *dir, "standard input", cmd.InOrStdin())
		}
		f, err := os.Open(args[0])
		if err != nil {
			return command.UsageError(err)
		}
		return errors.Join(importFrom(cmd, *dir, args[0], f), f.Close())
	})
	return cmd
}

func importFrom(cmd *cobra.Command, dir, name string, from io.Reader) error {
	lines, err := archive.Decompress(from)
	if err != nil {
		return fmt.Errorf("importing %s: %w", name, err)
	}
	defer lines.Close()
	bar := command.NewProgress(cmd.ErrOrStderr())
	sum, err := journal.Import(cmd.Context(), dir, lines, newLogger(cmd.ErrOrStderr()), bar.Show)
	bar.End()
	switch {
	case errors.Is(err, journal.ErrNotEmpty):
		return command.UsageError(fmt.Errorf("--history-dir %w: move it away, or choose another one", err))
	case err != nil:
		return fmt.Errorf("importing %s: %w", name, interrupted(err))
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s has %d states and %d events of %d ranges\nnext: revtail serve --history-dir %s\n", dir, sum.States, sum.Events, sum.Ranges, dir)
	return err
}
