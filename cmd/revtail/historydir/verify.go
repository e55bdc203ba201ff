package historydir

import (
	"fmt"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/etcdstore/journal"
)

// maxReports is how many contradictions are printed.
const maxReports = 50

func newVerifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify a journal: that all of it can be read",
		Long: `Read every entry of the journal of a gateway that is stopped: that every value can be read, and that the index of keys, the states and the
events agree. What does not is printed with its key, and the exit code is 1. The directory stays as it is.

A journal that is damaged is still read by a gateway, but for the keys that are named. To begin anew, move the directory away.`,
		Example: `  revtail history verify --history-dir /var/lib/revtail/history`,
	}
	dir := directoryFlag(cmd)
	cmd.RunE = command.NoArgs(func(cmd *cobra.Command) error {
		return withJournal(cmd, *dir, journal.ReadOnly, func(j *journal.Journal) error { return verify(cmd, j, *dir) })
	})
	return cmd
}

func verify(cmd *cobra.Command, j *journal.Journal, dir string) error {
	bar, reports := command.NewProgress(cmd.ErrOrStderr()), 0
	sum, err := j.Verify(cmd.Context(), func(err error) {
		if reports++; reports <= maxReports {
			bar.End()
			_, _ = fmt.Fprintln(cmd.OutOrStdout(), command.Printable(err.Error())) // the exit code reports it too
		}
	}, bar.Show)
	bar.End()
	switch {
	case err != nil:
		return err
	case reports > maxReports:
		return fmt.Errorf("%s: the journal is damaged: %d errors, of which %d are printed", dir, reports, maxReports)
	case reports > 0:
		return fmt.Errorf("%s: the journal is damaged: %d errors", dir, reports)
	}
	for _, r := range j.Ranges() {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), describe(r)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is intact: %d keys, %d states, %d events\n", dir, sum.Keys, sum.States, sum.Events)
	return err
}

// describe says what a range has.
func describe(r journal.Range) string {
	out := fmt.Sprintf("%s: revisions %d to %d", command.Printable(r.Prefix), r.Oldest, r.Through)
	for _, gap := range r.Gaps {
		out += fmt.Sprintf(", without %d to %d", gap.After+1, gap.Until-1)
	}
	switch {
	case r.Former:
		out += ", of a former history"
	case r.Ended:
		out += ", no longer recorded"
	}
	return out
}
