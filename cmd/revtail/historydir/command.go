// Package historydir has the commands that work on the directory of a journal (--history-dir) while no gateway has it open: history verify, export, import
// and prune.
package historydir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/etcdstore/journal"
)

// Commands returns the commands for a directory, which belong below the command history.
func Commands() []*cobra.Command {
	return []*cobra.Command{newVerifyCommand(), newExportCommand(), newImportCommand(), newPruneCommand()}
}

// directoryFlag adds --history-dir.
func directoryFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("history-dir", "", "`directory` of the journal, as given to revtail serve")
}

// errNoDirectory is the error for a command line without --history-dir.
func errNoDirectory(cmd *cobra.Command) error {
	return command.UsageError(fmt.Errorf("want --history-dir, the directory of the journal, as in '%s --history-dir history'%s", cmd.CommandPath(), command.HelpHint(cmd)))
}

// withJournal runs a command on a journal that exists.
func withJournal(cmd *cobra.Command, dir string, access journal.Access, run func(j *journal.Journal) error) error {
	if dir == "" {
		return errNoDirectory(cmd)
	}
	j, err := journal.OpenExisting(dir, newLogger(cmd.ErrOrStderr()), access)
	switch {
	case errors.Is(err, journal.ErrInUse):
		return command.UsageError(fmt.Errorf("--history-dir %s: another process has it open: stop the gateway, or work on a copy of the directory", dir))
	case errors.Is(err, journal.ErrNoJournal):
		return command.UsageError(fmt.Errorf("--history-dir %w: want the directory that a 'revtail serve --history-dir' has written", err))
	case err != nil:
		return command.UsageError(fmt.Errorf("--history-dir %w", err))
	}
	return interrupted(errors.Join(run(j), j.Close()))
}

// interrupted explains the error of a command that a signal ends.
func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	return err
}

func newLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
