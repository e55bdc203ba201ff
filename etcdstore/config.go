package etcdstore

import (
	"crypto/tls"
	"log/slog"
	"math"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// Config configures the connection to etcd.
type Config struct {
	Endpoints []string // at least one; URLs or host:port. Requests go to all in turn

	// TLS returns the configuration of each new connection; nil: the default if an endpoint is https://.
	TLS func() *tls.Config

	// Username and Password log in to etcd; both or neither. Each login calls Password. The user needs read and write access to the
	// served prefixes and to revtail/.
	Username string
	Password func() string

	// KV and Watch are the services of an etcd in this process, instead of a connection; both or neither. Other requests use the
	// connection. They exclude Username.
	KV    pb.KVClient
	Watch pb.WatchClient

	Logger  *slog.Logger // of the client; nil: no log
	Observe Observer     // nil: none

	Tracing trace.TracerProvider // of the requests in a traced context; nil: no traces
}

func clientConfig(cfg Config) clientv3.Config {
	c := clientv3.Config{
		Endpoints:            cfg.Endpoints,
		DialTimeout:          requestTimeout, // only of the login
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 5 * time.Second,
		// etcd closes connections with pings but no requests.
		PermitWithoutStream: false,
		Logger:              clientLogger(cfg.Logger),
		DialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(math.MaxInt32)),
			grpc.WithChainUnaryInterceptor(sendOnce, cfg.Observe.intercept),
			// With the defaults of gRPC, 20 s and 120 s, reconnecting could take minutes.
			grpc.WithConnectParams(grpc.ConnectParams{
				MinConnectTimeout: 3 * time.Second,
				Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			}),
		},
	}
	if cfg.Tracing != nil {
		c.DialOptions = append(c.DialOptions, grpc.WithChainUnaryInterceptor(traced(cfg.Tracing)))
	}
	if cfg.TLS != nil {
		c.DialOptions = append(c.DialOptions, grpc.WithTransportCredentials(newFreshTLS(cfg.TLS)))
	}
	if cfg.Username != "" {
		// With a user in its configuration, the client logs in before New returns, and fails if etcd is down. With an invalid token it
		// logs in when etcd refuses the token.
		c.Token = "none yet"
		c.DialOptions = append(c.DialOptions, grpc.WithChainUnaryInterceptor(login(cfg.Password)))
	}
	return c
}
