// Package open has the command open, which serves the file of an etcd that does not run.
package open

import (
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/offline"
	"revtail/gateway/config"
)

// NewCommand returns the command open.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "open FILE",
		GroupID: command.GroupServer,
		Short:   "Serve a snapshot of an etcd, or the data of a stopped one, to be read",
		Long: `Serve a snapshot of an etcd ('revtail snapshot save', 'etcdctl snapshot save'), the database member/snap/db of a stopped etcd or a copy
of it, or the data directory of a stopped etcd. Whose data it is, that of revtail or of a kube-apiserver, is found out from the keys.

The file stays as it is, and nothing is written anywhere. Everything else is as with 'revtail serve': resources, keys, watches, past revisions
(--revision of 'revtail get', resourceVersion and resourceVersionMatch=Exact of a list), and the console at /ui/. Writes are 405. The file has the
revisions since the last compaction of the etcd. The log of a stopped etcd, member/wal, is not read: an etcd that was killed may have its last changes
there alone.

The values of Secrets are redacted, unless --redact none is given: each is replaced by a text with its length and a digest, everywhere, also in
the annotation of 'kubectl apply' and in the keys. Equal values have equal digests until the command ends; the key of the digests is
random. Only the values of Secrets are redacted: other objects are shown as they are.

When the file is open, the command prints its address in one line on stdout, as in
  READY http=http://127.0.0.1:43211 etcd=backup.db revision=4711 data=kube-apiserver mode=read-only prefix=/registry keys=912 revisions=4200-4711
data is revtail, kube-apiserver, foreign (of another program) or none (nothing below the prefix). SIGINT or SIGTERM ends the command.

Exit codes: 0 ended by a signal, 1 failed, 2 wrong usage.`,
		Example: `  # a snapshot, on any free port of this machine
  revtail open backup.db

  # the data of a stopped control plane, and its objects as they were
  revtail open /var/lib/etcd --listen 127.0.0.1:8080
  revtail get pods -A --revision 4711

  # with the values of Secrets, which are encrypted in the file
  revtail open backup.db --encryption-provider-config encryption.yaml --redact none`,
	}
	cmd.Flags().SortFlags = false
	listen := cmd.Flags().StringSlice("listen", []string{"127.0.0.1:0"}, "`addresses` to listen on: only of this machine, or unix:///path; port 0: any free one")
	var o offline.Options
	o.AddFlags(cmd)
	cmd.RunE = command.MaxArgs(1, func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || args[0] == "" {
			return command.UsageError(fmt.Errorf("want the file of a snapshot, or the data directory of a stopped etcd, as in 'revtail open backup.db'%s", command.HelpHint(cmd)))
		}
		o.File = args[0]
		if err := errors.Join(o.Check(), checkListen(*listen)); err != nil {
			return command.UsageError(fmt.Errorf("%w%s", err, command.HelpHint(cmd)))
		}
		logger := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
		return run(cmd.Context(), o, *listen, logger, cmd.OutOrStdout())
	})
	return cmd
}

// checkListen refuses addresses that other machines can reach, because requests are not authenticated.
func checkListen(addresses []string) error {
	if len(addresses) == 0 {
		return errors.New("--listen: want an address, as 127.0.0.1:8080")
	}
	for _, address := range addresses {
		if _, socket := config.UnixPath(address); socket {
			continue
		}
		host, _, err := net.SplitHostPort(address)
		switch {
		case err != nil:
			return fmt.Errorf("--listen %q: want host:port, as 127.0.0.1:8080, or unix:///PATH", address)
		case !config.Loopback(host):
			return fmt.Errorf("--listen %s: other machines could read all data without authentication: listen on a loopback address, as 127.0.0.1:8080, and reach it with ssh -L", address)
		}
	}
	return nil
}
