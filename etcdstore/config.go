package etcdstore

import (
	"context"
	"crypto/tls"
	"log/slog"
	"math"
	"net"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"revtail/etcdstore/zaplog"
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

const (
	// streamWindow is about the size of a message of a scan. With the default of gRPC, 64 KiB, etcd stops several times in each, which costs both
	// sides a fifth of their processor time. gRPC buffers as much of a watch that is not read.
	streamWindow = 1 << 20
	// connectionWindow is for the scans of several caches at once, and readBuffer saves system calls.
	connectionWindow = 4 << 20
	readBuffer       = 128 << 10
)

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
			grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(connectionWindow), grpc.WithReadBufferSize(readBuffer),
			grpc.WithChainUnaryInterceptor(sendOnce, failFast, cfg.Observe.intercept(cfg.Tracing)),
			// With the defaults of gRPC, 20 s and 120 s, reconnecting could take minutes.
			grpc.WithConnectParams(grpc.ConnectParams{
				MinConnectTimeout: 3 * time.Second,
				Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			}),
		},
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

// freshTLS is TLS with a new configuration for each connection, because certificates and authorities may change.
type freshTLS struct {
	credentials.TransportCredentials // for methods without a connection
	config                           func() *tls.Config
}

func newFreshTLS(config func() *tls.Config) credentials.TransportCredentials {
	return freshTLS{credentials.NewTLS(config()), config}
}

// ClientHandshake implements credentials.TransportCredentials.
func (f freshTLS) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(f.config()).ClientHandshake(ctx, authority, conn)
}

// Clone implements credentials.TransportCredentials.
func (f freshTLS) Clone() credentials.TransportCredentials { return newFreshTLS(f.config) }

// clientLogger logs at debug level, because package monitor reports lost members and requests return their errors, and one message of each kind
// per ten seconds, because the client warns at each retry, 40 per second.
func clientLogger(l *slog.Logger) *zap.Logger {
	if l == nil {
		return zap.NewNop()
	}
	return zaplog.New(l).Named("etcd-client").WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(outOfRangeFilter{c}, 10*time.Second, 1, 0)
	}))
}

// outOfRangeFilter reduces entries to Info, which zaplog logs at Debug. It drops those about compacted and future revisions, because these
// are normal responses.
type outOfRangeFilter struct{ zapcore.Core }

// With implements zapcore.Core.
func (f outOfRangeFilter) With(fields []zapcore.Field) zapcore.Core {
	return outOfRangeFilter{f.Core.With(fields)}
}

// Check implements zapcore.Core.
func (f outOfRangeFilter) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if f.Enabled(min(entry.Level, zapcore.InfoLevel)) {
		return checked.AddCore(entry, f)
	}
	return checked
}

// Write implements zapcore.Core.
func (f outOfRangeFilter) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	for _, field := range fields {
		if err, ok := field.Interface.(error); ok && status.Code(err) == codes.OutOfRange {
			return nil
		}
	}
	entry.Level = min(entry.Level, zapcore.InfoLevel)
	return f.Core.Write(entry, fields)
}
