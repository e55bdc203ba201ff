package historydir

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/etcdstore"
	"revtail/etcdstore/journal"
	"revtail/gateway/config"
)

// pruner has the flags of prune.
type pruner struct {
	age      string
	revision int64
}

func newPruneCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Delete the oldest part of a journal",
		Long: `Delete the events of the journal of a stopped gateway that are older than a time or a revision, and free their space on the disk. The state at the
oldest revision that remains is kept. --older-than also deletes former histories that ended before. A running gateway prunes by itself: see
--history-retention and --history-max-size of 'revtail serve'.`,
		Example: `  revtail history prune --history-dir history --older-than 3d
  revtail history prune --history-dir history --before-revision 120000`,
	}
	dir, p := directoryFlag(cmd), &pruner{}
	cmd.Flags().StringVar(&p.age, "older-than", "", "delete what is older than this `duration`, as 7d or 36h")
	cmd.Flags().Int64Var(&p.revision, "before-revision", 0, "delete what is before this `revision`")
	cmd.RunE = command.NoArgs(func(cmd *cobra.Command) error {
		o, err := p.options(time.Now())
		if err != nil {
			return command.UsageError(fmt.Errorf("%w%s", err, command.HelpHint(cmd)))
		}
		return withJournal(cmd, *dir, journal.ReadWrite, func(j *journal.Journal) error { return prune(cmd, j, *dir, o) })
	})
	return cmd
}

func (p *pruner) options(now time.Time) (journal.PruneOptions, error) {
	switch {
	case (p.age != "") == (p.revision != 0):
		return journal.PruneOptions{}, errors.New("want --older-than or --before-revision, as --older-than 7d")
	case p.revision < 0:
		return journal.PruneOptions{}, fmt.Errorf("--before-revision %d: want a revision of 1 or more", p.revision)
	case p.revision > 0:
		return journal.PruneOptions{Revision: etcdstore.Revision(p.revision)}, nil
	}
	age, err := config.ParseDuration(p.age)
	if err != nil || age < 0 {
		return journal.PruneOptions{}, fmt.Errorf("--older-than %q: want a time, as 7d or 36h", p.age)
	}
	return journal.PruneOptions{Before: now.Add(-age)}, nil
}

func prune(cmd *cobra.Command, j *journal.Journal, dir string, o journal.PruneOptions) error {
	bar, before := command.NewProgress(cmd.ErrOrStderr()), j.Size()
	pruned, err := j.Prune(cmd.Context(), o, bar.Show)
	bar.End()
	for _, p := range pruned {
		text := describe(p.Is)
		switch {
		case p.Removed:
			text += ": deleted"
		case p.Is.Oldest == p.Was.Oldest:
			text += ": nothing is older"
		default:
			text += fmt.Sprintf(": began at %d before", p.Was.Oldest)
		}
		if _, failed := fmt.Fprintln(cmd.OutOrStdout(), text); failed != nil {
			return errors.Join(err, failed)
		}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s takes %v, and took %v before\n", dir, config.Bytes(j.Size()), config.Bytes(before))
	return err
}
