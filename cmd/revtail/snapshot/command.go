// Package snapshot has the command snapshot: save, status and restore, the backup of an etcd.
package snapshot

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
)

// NewCommand returns the command snapshot.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "snapshot",
		GroupID: command.GroupOperate,
		Short:   "Save, examine and restore a backup of etcd",
		Long: `Save, examine and restore a backup of etcd. All state of revtail is in etcd, and a snapshot is all of an etcd at one revision, in
the format of etcdctl and etcdutl.`,
		Args: cobra.ArbitraryArgs, // RunE refuses them
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return command.UsageError(fmt.Errorf("unknown command %q: want save, status or restore%s", args[0], command.HelpHint(cmd)))
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newSaveCommand(), newStatusCommand(), newRestoreCommand())
	return cmd
}

// withFile is a RunE of cobra for a command with one argument, the file of a snapshot.
func withFile(run func(cmd *cobra.Command, file string) error) func(*cobra.Command, []string) error {
	return command.MaxArgs(1, func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || args[0] == "" {
			return command.UsageError(fmt.Errorf("want the file of the snapshot, as in '%s backup.db'%s", cmd.CommandPath(), command.HelpHint(cmd)))
		}
		err := run(cmd, args[0])
		if errors.Is(err, context.Canceled) {
			return errors.New("interrupted: no file is left behind")
		}
		return err
	})
}
