package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"revtail/cmd/revtail/command"
	"revtail/etcdstore"
	"revtail/etcdstore/embedded"
	"revtail/gateway/config"
)

// quorumTimeout is how long OpenMember waits for a quorum. Without one, a snapshot is still possible.
const quorumTimeout = 5 * time.Second

// Member is one member of an etcd. The owner closes it.
type Member struct {
	Status etcdstore.MemberStatus
	Store  *etcdstore.Etcd // requests go to this member

	// Newest is the revision that the cluster had when the member was opened; zero: there is no quorum, and the member may lack acknowledged
	// writes.
	Newest etcdstore.Revision

	backend *Backend // of a data directory that no process uses; nil: none
}

// Close closes the connection, and the member if OpenMember has started it.
func (m *Member) Close() error {
	err := m.Store.Close()
	if m.backend != nil {
		err = errors.Join(err, m.backend.Close())
	}
	return err
}

// OpenMember opens the newest member of the etcd of a configuration. The embedded etcd may be running, in a gateway, or not: then it runs in
// this process until Close. Errors name the flag to change, and have the exit code.
func OpenMember(ctx context.Context, cfg config.Config, logger *slog.Logger) (m *Member, err error) {
	tlsConfig, err := cfg.OpenEtcdTLS(logger)
	if err != nil {
		return nil, command.UsageError(err)
	}
	password, err := cfg.OpenEtcdPassword(logger)
	if err != nil {
		return nil, command.UsageError(err)
	}
	o := Options{Config: cfg, TLS: tlsConfig, Password: password, Logger: logger}
	access := Access(o)
	var own *Backend
	if !cfg.External() {
		if access, own, err = embeddedMember(ctx, o); err != nil {
			return nil, err
		}
	}
	if m, err = newestMember(ctx, o, access); err != nil {
		if own != nil {
			err = errors.Join(err, own.Close())
		}
		return nil, err
	}
	m.backend = own
	return m, nil
}

// embeddedMember returns how to connect to the embedded etcd. It starts the etcd if no process uses its data directory.
func embeddedMember(ctx context.Context, o Options) (access etcdstore.Config, own *Backend, err error) {
	cfg := o.Config
	if cfg.EmbeddedConfig != "" {
		return access, nil, command.UsageError(errors.New("--embedded-config: name the listen-client-urls in this file with --etcd-endpoints"))
	}
	if !embedded.HasData(cfg.DataDir) {
		return access, nil, fmt.Errorf("the data directory %s has no data of an etcd: name that of an embedded etcd with --data-dir, or an external etcd with --etcd-endpoints", cfg.DataDir)
	}
	starting, cancel := context.WithTimeout(ctx, cfg.StartupTimeout)
	defer cancel()
	o.Config.EmbeddedClientURL = config.NoClientURL // no other program needs it
	own, access, err = start(starting, o)
	if !errors.Is(err, embedded.ErrDataDirInUse) {
		return access, own, explainStart(err, cfg)
	}
	url, err := embedded.ClientURL(cfg.DataDir)
	if err != nil {
		return access, nil, fmt.Errorf("the data directory %s is in use by another process, which is no revtail: name its URL with --etcd-endpoints (%w)", cfg.DataDir, err)
	}
	access = Access(o)
	access.Endpoints = []string{url}
	return access, nil, nil
}

// newestMember opens the member with the newest revision, if possible not the leader, which has more to do.
func newestMember(ctx context.Context, o Options, access etcdstore.Config) (*Member, error) {
	all := &Backend{}
	var err error
	if all.Store, err = etcdstore.Open(access); err != nil {
		return nil, err
	}
	defer func() { _ = all.Close() }() // it was only read
	m := &Member{}
	waiting, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	if err = all.await(waiting, o); err == nil {
		m.Newest, err = all.Store.Revision(ctx)
	}
	if errors.Is(err, etcdstore.ErrDenied) {
		return nil, explainStart(err, o.Config)
	}
	answering := slices.DeleteFunc(all.Store.Members(ctx), func(s etcdstore.MemberStatus) bool { return s.Err != nil })
	if len(answering) == 0 {
		o.Config.EtcdEndpoints = access.Endpoints
		return nil, cmp.Or(ctx.Err(), all.unreachable(ctx, o.Config, quorumTimeout.String()))
	}
	m.Status = slices.MaxFunc(answering, func(a, b etcdstore.MemberStatus) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(number(b.Leader), number(a.Leader)))
	})
	access.Endpoints = []string{m.Status.Endpoint}
	m.Store, err = etcdstore.Open(access)
	if err == nil && m.Newest > 0 {
		err = m.Store.Await(waiting) // logs in
	}
	return m, err
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
