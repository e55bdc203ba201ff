package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"revtail/etcdstore"
	"revtail/gateway/access/audit"
	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/api/mount"
	"revtail/gateway/claim"
	"revtail/gateway/config/reload"
)

// Options say what a Server serves.
type Options struct {
	Store   etcdstore.Store // needed; the caller closes it after Run has returned
	Prefix  string          // needed: where resources live in etcd, for example /registry
	Claim   *claim.Claim    // whose data lies there, in Store; nil: it is the gateway's own
	Logger  *slog.Logger    // nil: slog.Default()
	Version string          // of the program, for /version; empty: unknown

	Mounts []mount.Mount // prefixes of etcd that are shown as resources; New and CheckMounts say what is wrong with them

	Keys         []string // and prefixes, which end with a slash, that the keys API may read; "*": every key
	KeysWritable []string // the same, to be read and written

	Watchers bool // /debug/watchers is served with everything else; otherwise Admin alone has it

	Metrics  []prometheus.Collector // more of them for /metrics
	Tracing  trace.TracerProvider   // gets a span of each request; nil: none
	Problems func() []string        // of etcd, that keep nothing from being served but are to be known, for /readyz?verbose; nil: nobody looks

	GarbageCollector      bool // delete objects whose owners, by their ownerReferences, are all gone
	GarbageCollectorLimit int  // how many in an hour where nobody sent a DELETE request for an owner; zero: 100, and a tenth of a resource

	Authenticator *authentication.Authenticator       // nil: nobody is asked who they are
	Policy        *reload.File[*authorization.Policy] // nil: everybody who is let in may do everything
	Audit         *audit.Log                          // nil: nobody writes down who did what
	Origins       []string                            // of pages that may read and write here, as https://example.com
	Hosts         []string                            // names of this server beside localhost
	MaxWatches    int                                 // of one user, where users are asked who they are; zero: no limit
}

// complete sets what is not given, and returns an error that names an option that is wrong.
func (o *Options) complete() error {
	if o.Store == nil {
		return errors.New("gateway: Options.Store is required")
	}
	if o.Prefix == "" || o.Prefix[0] != '/' {
		return errors.New("gateway: Options.Prefix is required and begins with a slash")
	}
	for _, origin := range o.Origins {
		if err := http.NewCrossOriginProtection().AddTrustedOrigin(origin); err != nil {
			return fmt.Errorf("gateway: Options.Origins: %w", err)
		}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return nil
}
