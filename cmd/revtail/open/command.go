// Package open has the command open, which serves the file of an etcd that does not run, or a journal.
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

const longHelp = `Serve a snapshot of an etcd ('revtail snapshot save', 'etcdctl snapshot save'), the database member/snap/db of a stopped etcd or a copy
of it, the data directory of a stopped etcd, an export of a journal ('revtail history export', also compressed by gzip or zstd), or the directory of a
journal (--history-dir) that no gateway has open. Whose data it is, that of revtail or of a kube-apiserver, is found out from the keys.

The file stays as it is, and nothing is written anywhere. Everything else is as with 'revtail serve': resources, keys, watches, past revisions
(--revision of 'revtail get', resourceVersion and resourceVersionMatch=Exact of a list), and the console at /ui/. Writes are 405. The file has the
revisions since the last compaction of the etcd. The log of a stopped etcd, member/wal, is not read: an etcd that was killed may have its last changes
there alone.

A journal is served with the times of its events: 'revtail history', 'blame' and 'log' and --at of 'revtail get' work with it, and its newest revision is
the present. An export is imported into a temporary directory first (TMPDIR), of about its size, which is removed at the end. Secrets whose values
the journal does not have are in no list, and their history has the revisions only. Keys that were not recorded do not exist.

The values of Secrets are redacted, unless --redact none is given: each is replaced by a text with its length and a digest, everywhere, also in
the annotation of 'kubectl apply' and in the keys. Equal values have equal digests until the command ends; the key of the digests is
random. Only the values of Secrets are redacted: other objects are shown as they are.

Encrypted values need --encryption-provider-config. Without the right keys a warning and /readyz name resource, provider and key, requests for these
values get 500, and everything else is served.

When the file is open, the command prints its address in one line on stdout, as in
  READY http=http://127.0.0.1:43211 etcd=backup.db revision=4711 data=kube-apiserver mode=read-only prefix=/registry keys=912 revisions=4200-4711
data is revtail, kube-apiserver, foreign (of another program) or none (nothing below the prefix). That of a journal has from= and until=, the times of its
events, too. SIGINT or SIGTERM ends the command.

Exit codes: 0 ended by a signal, 1 failed, 2 wrong usage.`

// NewCommand returns the command open.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "open FILE",
		GroupID: command.GroupServer,
		Short:   "Serve a snapshot of an etcd, the data of a stopped one, or a journal, to be read",
		Long:    longHelp,
		Example: `  # a snapshot, on any free port of this machine
  revtail open backup.db

  # the data of a stopped control plane, and its objects as they were
  revtail open /var/lib/etcd --listen 127.0.0.1:8080
  revtail get pods -A --revision 4711

  # what happened in another place, from an export of the journal there
  revtail open history.ndjson.zst --listen 127.0.0.1:8080
  revtail log -A --since 2026-11-28T02:00 --until 2026-11-28T02:30

  # with the values of Secrets, which are encrypted in the file
  revtail open backup.db --encryption-provider-config encryption.yaml --redact none`,
	}
	cmd.Flags().SortFlags = false
	listen := cmd.Flags().StringSlice("listen", []string{"127.0.0.1:0"}, "`addresses` to listen on: only of this machine, or unix:///path; port 0: any free one")
	var o offline.Options
	o.AddFlags(cmd)
	cmd.RunE = command.MaxArgs(1, func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || args[0] == "" {
			return command.UsageError(fmt.Errorf("want the file of a snapshot, the data directory of a stopped etcd, or an export of a journal, as in 'revtail open backup.db'%s", command.HelpHint(cmd)))
		}
		o.File = args[0]
		if err := errors.Join(o.Check(), checkListen(*listen)); err != nil {
			return command.UsageError(fmt.Errorf("%w%s", err, command.HelpHint(cmd)))
		}
		logger := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
		return run(cmd.Context(), o, *listen, logger, cmd.OutOrStdout(), cmd.ErrOrStderr())
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
