package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"revtail/cmd/revtail/backend"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/memory"
	"revtail/etcdstore"
	"revtail/gateway"
	"revtail/gateway/access/certificate"
	"revtail/gateway/claim"
	"revtail/gateway/config"
	"revtail/gateway/config/reload"
	"revtail/gateway/metrics"
)

func newServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway, with an etcd in the same process unless --etcd-endpoints is given",
		Long: `Run the gateway, with an etcd in the same process unless --etcd-endpoints is given.

When everything answers, one line on stdout says where, as in
  READY http=http://127.0.0.1:8080 etcd=embedded revision=1
On data that is not revtail's own it ends in data=kube-apiserver or data=foreign, and mode=read-only or mode=writable.
The log goes to stderr. SIGTERM or SIGINT ends watches and requests in order, a second one the process at once.

With --tls-cert-file and --tls-private-key-file every --listen address is HTTPS. Clients show who they are by a certificate
(--client-ca-file), a token (--token-file, see 'revtail token') or a signed token of an issuer (--oidc-issuer-url), and may do
what --policy-file allows. These files, and those of TLS and the login to etcd, are read again when they change, and at once at
SIGHUP: what cannot be used is reported, and what was in use stays. Open watches go on, but for those of who has lost the right to them: they
end within seconds.

Each flag has an environment variable (--etcd-prefix: REVTAIL_ETCD_PREFIX) and a key in the --config file (etcdPrefix).
A flag wins over the environment, the environment over the file. The file alone has mounts, prefixes of etcd that other programs
write and that are shown as resources; they are taken over when the file changes and at SIGHUP, the other keys at the next start:
  apiVersion: revtail/v1
  mounts:
  - prefix: /app/config/       # ends with /
    group: app.example.com
    version: v1                # the default
    kind: Setting
    plural: settings
    namespaced: false          # true: the first segment of a key is the namespace
    codec: json                # the default; or yaml, string, bytes
    writable: false            # true: objects can be created, changed and deleted

Exit codes: 0 ended by a signal, 1 failed, 2 wrong usage or configuration, 3 etcd not reachable within --startup-timeout.`,
	}
	flags := config.AddFlags(cmd.Flags())
	printConfig := cmd.Flags().Bool("print-config", false, "print the configuration that all sources together give, as a --config file, and exit")
	printReference := cmd.Flags().Bool("print-reference", false, "print every option, its meaning, default, environment variable and key in the file, in Markdown, and exit")
	cmd.Flags().SortFlags = false
	cmd.RunE = command.NoArgs(func(cmd *cobra.Command) error {
		if *printReference {
			_, err := cmd.OutOrStdout().Write(config.Reference())
			return err
		}
		load := func() (config.Config, error) {
			cfg, err := flags.Load(os.Environ())
			if err == nil {
				err = cfg.Validate()
			}
			return cfg, err
		}
		cfg, err := load()
		if err != nil {
			return command.UsageError(err)
		}
		if *printConfig {
			return writeConfig(cmd.OutOrStdout(), cfg)
		}
		logger, flush := newLogger(cfg, cmd.ErrOrStderr())
		defer flush()
		return serve(cmd.Context(), cfg, load, logger, cmd.OutOrStdout())
	})
	return cmd
}

func writeConfig(w io.Writer, cfg config.Config) error {
	out, err := cfg.YAML()
	if err == nil {
		_, err = w.Write(out)
	}
	return err
}

// process is what is open while the gateway runs.
type process struct {
	cfg          config.Config
	logger       *slog.Logger
	hangups      <-chan os.Signal
	certificates *certificate.Keeper       // nil: plain HTTP
	etcdTLS      *reload.File[*tls.Config] // nil: nothing is said about it
	etcdPassword *reload.File[string]      // nil: nobody logs in
	supervisor   supervisor
	requests     *metrics.StoreRequests // to etcd
	access       access
	file         *reload.File[config.Config] // of --config; nil: there is none
	audit        *auditFile                  // nil: there is none
	tracing      *sdktrace.TracerProvider    // nil: nothing is traced
	limit        *addressLimit
	etcd         *backend.Backend
	monitor      *etcdstore.Monitor
	claim        *claim.Claim
	unwritten    bool // nobody had written to etcd at the start
	gateway      *gateway.Server
	web          *webServer
	admin        *webServer // nil: none
	background   *group
}

// serve is the life of the process: open, run, drain. What is opened is closed in reverse order, by the deferred calls;
// ctx ends it in order. load reads the configuration again.
func serve(ctx context.Context, cfg config.Config, load func() (config.Config, error), logger *slog.Logger, stdout io.Writer) (err error) {
	outliveReaders()
	logger.Info("starting", "version", programVersion(), "history", cfg.History.String())
	p := &process{cfg: cfg, logger: logger, hangups: catchHangups(), limit: newAddressLimit(cfg.MaxConnectionsPerAddress),
		requests: metrics.NewStoreRequests(), supervisor: findSupervisor(logger)}
	if err = errors.Join(p.openCertificates(), p.openCredentials(), p.openAccess(), p.openAudit(stdout), p.openTracing(ctx), p.openFile(ctx, load)); err != nil {
		return command.UsageError(err)
	}
	defer p.closeAudit()
	defer p.closeTracing()
	if !cfg.External() {
		memory.EmbedEtcd()
	}
	p.etcd, err = backend.Open(ctx, backend.Options{
		Config: cfg, TLS: p.etcdTLS, Password: p.etcdPassword, Requests: p.requests, Tracing: p.tracer(), Logger: logger,
	})
	if err != nil && ctx.Err() != nil {
		logger.Info("stopped before etcd was ready")
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.etcd.Close()) }()
	p.monitor = etcdstore.NewMonitor(p.etcd.Store)
	if err := p.openClaim(ctx); err != nil {
		return err
	}
	p.gateway, err = gateway.New(gateway.Options{
		Store: p.etcd.Store, Prefix: cfg.EtcdPrefix, Claim: p.claim, Logger: logger, Version: programVersion(),
		GarbageCollector: cfg.GarbageCollector, GarbageCollectorLimit: cfg.GarbageCollectorLimit,
		Mounts: cfg.Mounts, Metrics: p.metrics(), Problems: p.problems, Tracing: p.tracer(), Authenticator: p.authenticator(), Policy: p.access.policy,
		Audit: p.auditLog(), Origins: cfg.CORSAllowedOrigins, Hosts: cfg.AllowedHosts, MaxWatches: cfg.MaxWatchesPerUser,
		Keys: cfg.Keys, KeysWritable: cfg.KeysWritable, Watchers: cfg.AdminListen == "" && cfg.Guarded(),
	})
	if err == nil {
		err = p.gateway.CheckMounts(ctx, cfg.Mounts)
	}
	switch {
	case errors.Is(err, etcdstore.ErrUnavailable), errors.Is(err, etcdstore.ErrDenied), ctx.Err() != nil:
		return err
	case err != nil:
		return command.UsageError(err)
	}
	p.web = newWebServer("--listen", p.gateway, p.tlsConfig(), p.limit, logger)
	if err = p.web.Listen(ctx, cfg.Listen); err != nil {
		return err
	}
	if err = p.openAdmin(ctx); err != nil {
		return err
	}
	p.background = newGroup(context.WithoutCancel(ctx)) // requests that drain after the signal still need it
	defer p.background.Stop()
	if err := p.run(ctx, stdout); err != nil {
		return err
	}
	return p.drain()
}

// run serves until ctx ends, or something fails that the gateway cannot go on without.
func (p *process) run(ctx context.Context, stdout io.Writer) error {
	p.background.Go(p.web.Serve) // before the caches are filled: /livez and /readyz answer meanwhile
	if p.admin != nil {
		p.background.Go(p.admin.Serve)
	}
	p.background.Go(p.gateway.Run)
	p.background.Go(p.monitor.Run)
	p.background.Go(p.reloadAtHangups)
	p.startAccess()
	p.startCompactor()
	p.background.Go(func(ctx context.Context) error { return p.supervisor.reassure(ctx, p.gateway.Alive) })
	p.background.Go(func(background context.Context) error {
		err := p.announce(ctx, stdout)
		if err == nil {
			memory.ReleaseWhenIdle(background, p.gateway.Departed) // filling the caches allocates several times their size
		}
		return err
	})
	return p.wait(ctx)
}

// announce prints the ready line when every cache is filled, unless ctx ends before.
func (p *process) announce(ctx context.Context, stdout io.Writer) error {
	var revision etcdstore.Revision
	err := p.gateway.WaitReady(ctx)
	if err == nil {
		revision, err = p.etcd.Store.Revision(ctx)
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // stopped before it was ready: that is no failure
	}
	if err != nil {
		return fmt.Errorf("etcd's revision: %w", err)
	}
	p.supervisor.tell("READY=1")
	if _, err = fmt.Fprintf(stdout, "READY http=%s etcd=%s revision=%d%s\n", strings.Join(p.web.urls, ","), p.etcd.Name, revision, p.claimWords()); err != nil {
		p.logger.Warn("the ready line could not be written", "error", err)
	}
	return nil
}

// wait returns nil when ctx ends, and earlier the error that the gateway cannot go on after.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-p.etcd.Failed():
		return fmt.Errorf("the embedded etcd ended: %w", err)
	case err := <-p.background.Failed():
		return err
	}
}

// drain tells load balancers to turn away, ends the watches, then the other requests, and cuts what takes too long.
func (p *process) drain() error {
	p.logger.Info("stopping", "delay", p.cfg.DrainDelay.String(), "grace", p.cfg.DrainGrace.String())
	p.supervisor.tell("STOPPING=1")
	p.gateway.StartDraining()
	delay, cancel := context.WithTimeout(context.Background(), p.cfg.DrainDelay)
	defer cancel()
	if err := p.wait(delay); err != nil {
		return err
	}
	grace, cancel := context.WithTimeout(context.Background(), p.cfg.DrainGrace)
	defer cancel()
	if err := p.gateway.Drain(grace); err != nil {
		p.logger.Warn("some watches did not end within --drain-grace and are cut", "error", err)
	}
	if err := p.web.Shutdown(grace); err != nil {
		p.logger.Warn("some requests did not end within --drain-grace and are cut", "error", err)
	}
	return nil
}
