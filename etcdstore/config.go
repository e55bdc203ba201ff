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

// Config says how to reach etcd.
type Config struct {
	Endpoints []string // at least one; URLs or host:port. With several, requests go round and failures to the next

	// TLS is asked how to talk TLS at each new connection; nil: only what the endpoints' https:// asks for.
	TLS func() *tls.Config

	// Username logs in to etcd's own authentication, with what Password says at each login; both or neither. The user needs to
	// read and write the prefixes that are served and revtail/.
	Username string
	Password func() string

	// KV and Watch, of an etcd in this process, are used instead of a connection, over which all else goes; both or neither.
	// They know no user.
	KV    pb.KVClient
	Watch pb.WatchClient

	Logger  *slog.Logger // what the client has to say; nil: nothing
	Observe Observer     // nil: nobody wants to know

	Tracing trace.TracerProvider // gets a span of each request that is made for one that is traced; nil: none
}

func clientConfig(cfg Config) clientv3.Config {
	c := clientv3.Config{
		Endpoints:            cfg.Endpoints,
		DialTimeout:          requestTimeout, // only of logging in
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 5 * time.Second,
		// Pings without a request under way are what etcd takes for abuse.
		PermitWithoutStream: false,
		Logger:              clientLogger(cfg.Logger),
		DialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(math.MaxInt32)),
			grpc.WithChainUnaryInterceptor(sendOnce, cfg.Observe.intercept),
			// gRPC's own 20 s and 120 s would have an etcd that is back wait for minutes.
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
		// With a user in its configuration the client would log in before New returns, and fail without an etcd. With a
		// token, here not a valid one, it does not; when etcd refuses that, the client logs in, as with one that is too old.
		c.Token = "none yet"
		c.DialOptions = append(c.DialOptions, grpc.WithChainUnaryInterceptor(login(cfg.Password)))
	}
	return c
}
