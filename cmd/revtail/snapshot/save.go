package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/backend"
	"revtail/cmd/revtail/command"
	"revtail/etcdstore"
	"revtail/etcdstore/snapshot"
	"revtail/gateway/config"
)

const saveHelp = `Save all of etcd at one revision to a file: of an external etcd (--etcd-endpoints), or of the embedded one (--data-dir). A gateway
may run with the embedded etcd meanwhile; it serves on.

The newest member is asked that answers; the snapshot has every write that was acknowledged before the command began. Without a quorum it
may lack the last writes, and the command says so. The file has mode 0600, because it has all values of etcd. It appears when it is
complete, its checksum is verified, and it is on disk. The command replaces a file only with --force.

If etcd has authentication, --etcd-user needs the role root.`

func newSaveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "save FILE",
		Short: "Save all of etcd to a file",
		Long:  saveHelp,
		Example: `  # the embedded etcd of the gateway that was started in this directory
  revtail snapshot save backup.db

  # the embedded etcd with its data elsewhere, whether a gateway runs or not
  revtail snapshot save backup.db --data-dir /var/lib/revtail/revtail.etcd

  # an external etcd
  revtail snapshot save backup.db --etcd-endpoints https://a:2379,https://b:2379 --etcd-cacert ca.crt --etcd-user root --etcd-password-file password`,
	}
	flags := config.AddMemberFlags(cmd.Flags())
	force := cmd.Flags().Bool("force", false, "replace the file if it exists")
	cmd.RunE = withFile(func(cmd *cobra.Command, file string) error {
		cfg, err := flags.Load(os.Environ())
		if err == nil {
			err = cfg.Validate()
		}
		if err != nil {
			return command.UsageError(err)
		}
		if err := checkTarget(file, *force); err != nil {
			return err
		}
		s := saver{cfg: cfg, file: file, force: *force, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
		return s.run(cmd.Context())
	})
	return cmd
}

// checkTarget refuses a file that cannot be written, before etcd is asked.
func checkTarget(file string, force bool) error {
	err := snapshot.CheckTarget(file, force)
	if errors.Is(err, snapshot.ErrExists) {
		return command.UsageError(fmt.Errorf("%w: choose another name, or replace it with --force", err))
	}
	return err
}

// saver saves one snapshot.
type saver struct {
	cfg            config.Config
	file           string
	force          bool
	stdout, stderr io.Writer
}

func (s saver) run(ctx context.Context) error {
	logger := slog.New(slog.NewTextHandler(s.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	member, err := backend.OpenMember(ctx, s.cfg, logger)
	if err != nil {
		return err
	}
	bar := newProgress(s.stderr, "saving "+s.file)
	status, err := snapshot.Save(ctx, snapshot.SaveOptions{
		File: s.file, Replace: s.force, Source: member.Store.Snapshot, Least: int64(member.Newest), Progress: bar.show,
	})
	bar.end()
	switch err = errors.Join(err, member.Close()); {
	case errors.Is(err, etcdstore.ErrDenied):
		return fmt.Errorf("%w: a snapshot needs a user with the role root: check --etcd-user and --etcd-password-file", err)
	case err != nil:
		return err
	}
	if member.Newest == 0 {
		_, _ = fmt.Fprintf(s.stderr, "revtail: etcd has no quorum: the snapshot is of %s alone, and may lack the last writes\n", member.Status.Endpoint)
	}
	_, err = fmt.Fprintf(s.stdout, "%s: %s, revision %d, %d keys, of etcd %s at %s\n",
		s.file, size(status.TotalSize), status.Newest(), status.TotalKeys, member.Status.Version, member.Status.Endpoint)
	return err
}
