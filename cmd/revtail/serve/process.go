package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"go.opentelemetry.io/otel/trace"

	"revtail/cmd/revtail/backend"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/memory"
	"revtail/cmd/revtail/serve/logging"
	"revtail/cmd/revtail/serve/systemd"
	"revtail/cmd/revtail/serve/webserver"
	"revtail/etcdstore"
	"revtail/etcdstore/encryption"
	"revtail/etcdstore/journal"
	"revtail/etcdstore/journal/recorder"
	"revtail/etcdstore/monitor"
	"revtail/gateway"
	"revtail/gateway/access/audit"
	"revtail/gateway/access/certificate"
	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/api/changes"
	"revtail/gateway/claim"
	"revtail/gateway/config"
	"revtail/gateway/config/buildinfo"
	"revtail/gateway/config/reload"
	"revtail/gateway/metrics"
	"revtail/gateway/netio/stranger"
)

// process owns the resources of a running gateway.
type process struct {
	cfg           config.Config
	build         buildinfo.Info
	standIn       standIn
	logger        *slog.Logger
	sighup        chan os.Signal
	supervisor    systemd.Notifier
	certificates  *certificate.Keeper       // nil: plain HTTP
	tls           *tls.Config               // nil: plain HTTP
	etcdTLS       *reload.File[*tls.Config] // nil: by the scheme of the URLs
	etcdPassword  *reload.File[string]      // nil: no login
	access        access
	kubeAPIServer *kubeAPIServer // nil: the gateway decides about requests and answers all of them
	reloadables   []reloadable
	audit         *logging.AuditFile     // nil: no audit log
	auditLog      *audit.Log             // on audit
	tracing       traceExporter          // nil: no traces
	tracer        trace.TracerProvider   // tracing, or a nil interface
	requests      *metrics.StoreRequests // to etcd
	limit         *webserver.AddressLimit
	strangers     *stranger.Registry
	etcd          *backend.Backend
	etcdWasEmpty  bool                                // at the start
	encryption    *reload.File[*encryption.Providers] // nil: values are stored as they are
	kms           kmsHealth                           // of encryption
	decryption    *decryption                         // nil: values are stored as they are
	recorded      []string                            // the prefixes of the keys that are recorded
	unrecorded    []string                            // those of keys among them that are excluded
	journal       *journal.Journal                    // nil: none, or it is being copied
	recorder      *recorder.Recorder                  // writes journal; nil: nothing is recorded
	history       *changes.Source                     // what recorder has recorded
	store         etcdstore.Store                     // etcd, or the journal and encryption over it
	monitor       *monitor.Monitor
	claim         *claim.Claim
	gateway       *gateway.Server
	web           *webserver.Server
	admin         *webserver.Server       // nil: no --admin-listen
	background    context.Context         // of the goroutines; ends after the drain, or with the error of a goroutine
	stop          context.CancelCauseFunc // ends background
	running       sync.WaitGroup          // the goroutines
}

// serve opens the resources, runs until ctx ends, and drains. It closes the resources in reverse order. load reads the
// configuration again.
func (p *process) serve(ctx context.Context, load func() (config.Config, error), stdout io.Writer) (err error) {
	signal.Ignore(syscall.SIGPIPE) // the process stays alive when the reader of its stdout or stderr exits; writes to them fail then
	p.logger.Info("starting", "version", p.build.Version, "history", p.cfg.History.String(), "memoryLimitMiB", memory.Limit()>>20)
	logKubernetes(p.logger)
	p.sighup, p.supervisor = make(chan os.Signal, 1), systemd.NewNotifier(p.logger)
	signal.Notify(p.sighup, syscall.SIGHUP)
	err = errors.Join(p.openCertificates(), p.openCredentials(), p.openAccess(), p.openKubeAPIServer(), p.openAudit(stdout), p.openTracing(ctx), p.openEncryption(ctx), p.openConfigFile(ctx, load), p.chooseRecorded())
	if err != nil {
		return command.UsageError(err)
	}
	if p.audit != nil {
		defer p.audit.Close()
	}
	defer p.closeTracing()
	defer p.closeEncryption()
	err = p.openEtcd(ctx)
	if err != nil && ctx.Err() != nil {
		p.logger.Info("stopped before etcd was ready")
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.closeJournal(), p.etcd.Close()) }()
	for _, open := range []func(context.Context) error{p.openJournal, p.openClaim, p.openGateway, p.listen} {
		if err := open(ctx); err != nil {
			return err
		}
	}
	p.background, p.stop = context.WithCancelCause(context.WithoutCancel(ctx)) // the drain after the signal needs its goroutines
	defer p.running.Wait()
	defer p.stop(nil)
	if err := p.run(ctx, stdout); err != nil {
		return err
	}
	return p.drain()
}

func (p *process) openEtcd(ctx context.Context) (err error) {
	if !p.cfg.External() {
		memory.EmbedEtcd()
	}
	p.etcd, err = backend.Open(ctx, backend.Options{
		Config: p.cfg, TLS: p.etcdTLS, Password: p.etcdPassword, Requests: p.requests, Tracing: p.tracer, Logger: p.logger, Disposable: p.standIn.disposable,
	})
	if err == nil {
		p.monitor = monitor.New(p.etcd.Store, p.logger)
	}
	return err
}

// openGateway makes the gateway and checks the mounts against the data in etcd.
func (p *process) openGateway(ctx context.Context) (err error) {
	cfg := p.cfg
	if !cfg.LimitsWatches() {
		cfg.MaxWatchesPerUser = 0
	}
	clusterIPs, err := cfg.ClusterIPRanges()
	if err != nil {
		return err
	}
	nodePorts, err := cfg.NodePorts()
	if err != nil {
		return err
	}
	p.gateway, err = gateway.New(gateway.Options{
		Store: p.store, History: p.history, Prefix: cfg.EtcdPrefix, Claim: p.claim, Cluster: cfg.Cluster, Logger: p.logger, Build: p.build,
		GarbageCollector: cfg.GarbageCollector, ExternalGarbageCollector: cfg.ExternalGarbageCollector, GarbageCollectorLimit: cfg.GarbageCollectorLimit, CreateNamespaces: cfg.CreateNamespaces, RequireNamespaces: cfg.RequireNamespaces, ServiceClusterIPs: clusterIPs, ServiceNodePorts: nodePorts, GracefulDeletion: p.standIn.graceful,
		Mounts: cfg.Mounts, Metrics: p.metrics(), Problems: p.problems, Tracing: p.tracer,
		EncryptionProblems: p.encryptionProblems(), EncryptionFailure: p.decryption.failureOfCluster(),
		Delegate: p.kubeAPIServer.decides(), Upstream: p.kubeAPIServer.forwards(), Forwarded: p.kubeAPIServer.forwardsReads(), UpstreamProblems: p.kubeAPIServer.problems(),
		Authenticator: p.authenticator(), Policy: p.access.policy, Audit: p.auditLog, ServiceAccounts: p.access.serviceAccounts,
		Origins: cfg.CORSAllowedOrigins, Hosts: cfg.AllowedHosts,
		Limits: flowcontrol.Limits{
			Requests: cfg.MaxRequestsInflight, Writes: cfg.MaxMutatingRequestsInflight, Watches: cfg.MaxWatches, WatchesPerUser: cfg.MaxWatchesPerUser,
			Memory: memory.Limit(),
		},
		Keys: cfg.Keys, KeysWritable: cfg.KeysWritable, Debug: cfg.AdminListen == "" && cfg.Guarded(),
	})
	if err == nil {
		err = p.gateway.CheckMounts(ctx, cfg.Mounts)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, etcdstore.ErrUnavailable), errors.Is(err, etcdstore.ErrDenied), ctx.Err() != nil:
		return err
	}
	return command.UsageError(err)
}

// listen opens the listeners of --listen and --admin-listen, or none.
func (p *process) listen(ctx context.Context) error {
	p.web = webserver.New(webserver.Options{Flag: "--listen", Handler: p.gateway, TLS: p.tls, Limit: p.limit, Strangers: p.strangers, Logger: p.logger})
	if err := p.web.Listen(ctx, p.cfg.Listen); err != nil || p.cfg.AdminListen == "" {
		return err
	}
	p.admin = webserver.New(webserver.Options{Flag: "--admin-listen", Handler: p.gateway.Admin(), Limit: p.limit, Logger: p.logger})
	if err := p.admin.Listen(ctx, []string{p.cfg.AdminListen}); err != nil {
		p.web.Close()
		return err
	}
	p.logger.Info("operators are served", "admin", p.admin.URLs()[0])
	return nil
}
