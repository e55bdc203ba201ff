package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"revtail/etcdstore"
	"revtail/gateway/access"
	"revtail/gateway/access/audit"
	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/access/serviceaccount"
	"revtail/gateway/api/addresses"
	"revtail/gateway/api/admission"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/changes"
	"revtail/gateway/api/informer"
	"revtail/gateway/api/mount"
	"revtail/gateway/api/servicecidrs"
	"revtail/gateway/api/storage"
	"revtail/gateway/api/upstream"
	"revtail/gateway/claim"
	"revtail/gateway/config/buildinfo"
	"revtail/gateway/config/reload"
	"revtail/gateway/keys/timeline"
	"revtail/gateway/resource"
)

// Options configure a Server.
type Options struct {
	Store  etcdstore.Store // required; the caller closes it after Run has returned
	Prefix string          // required: the prefix of resources in etcd, for example /registry
	Claim  *claim.Claim    // whether the data in Store is the gateway's own; nil: it is
	// Cluster says that a kube-apiserver stores the resources: they are decoded as it stores them, and caches are filled when the first
	// request needs them. The Claim must not allow writes.
	Cluster bool
	// File says that Store is that of a file: caches are filled when the first request needs them, and pages of lists are read from Store without
	// a cache. The Claim must not allow writes.
	File   bool
	Logger *slog.Logger   // nil: slog.Default()
	Build  buildinfo.Info // of the program, for /version and the metrics

	History *changes.Source // what a journal has recorded of Store; nil: nothing

	Mounts []mount.Mount // prefixes of etcd that are served as resources

	Keys         []string // keys, and prefixes that end with a slash, that the keys API may read; "*": every key
	KeysWritable []string // the same, that the keys API may read and write

	Debug bool // /debug/watchers and /debug/flows are public routes; Admin always has them

	Metrics  []prometheus.Collector // further ones for /metrics
	Tracing  trace.TracerProvider   // gets a span of each request; nil: no traces
	Problems func() []string        // of etcd, for /readyz?verbose, where requests can still be served; nil: none are known

	// EncryptionProblems are those of the providers that encrypt values in Store, for /readyz?verbose; nil: values are stored as they are.
	EncryptionProblems func() []string
	// EncryptionFailure says why values in Store cannot be decrypted: the gateway is not ready meanwhile; nil: that does not matter to readiness.
	EncryptionFailure func() error

	GarbageCollector         bool // delete objects whose ownerReferences all name owners that no longer exist
	ExternalGarbageCollector bool // kube-controller-manager, or another program, does, and what propagation policies say; empties namespaces; keeps the status of ResourceQuotas; makes ServiceAccounts. Kubelets delete Pods
	CreateNamespaces         bool // default and kube-system, at the start
	RequireNamespaces        bool // nothing is created in a namespace without a Namespace
	// ServiceClusterIPs are one network of the cluster IPs of Services, or one of each family, of which the first is the default; nil: clients choose the
	// addresses of Services.
	ServiceClusterIPs     []netip.Prefix
	ServiceNodePorts      utilnet.PortRange // with ServiceClusterIPs
	GracefulDeletion      bool              // Pods on a node stay until its kubelet deletes them
	GarbageCollectorLimit int               // of deletions an hour for owners that no client has deleted; zero: 100, and a tenth of a resource

	Authenticator *authentication.Authenticator       // nil: all requests are anonymous
	Policy        *reload.File[*authorization.Policy] // nil: all authenticated requests are allowed, unless Delegate is set
	Delegate      access.Delegate                     // decides instead of Policy; nil: Policy does
	Upstream      *upstream.Proxy                     // answers what is no read of an object; nil: the server answers everything
	Forwarded     []schema.GroupResource              // whose reads Upstream answers too, because they are not in Store
	// UpstreamProblems are those of the kube-apiserver behind Upstream and Delegate, for /readyz?verbose, where reads can still be served; nil: there
	// is none.
	UpstreamProblems func() []string
	// ServiceAccounts is the one of Authenticator; nil: no tokens of service accounts are issued. New opens it.
	ServiceAccounts *serviceaccount.Issuer
	Audit           *audit.Log         // nil: no audit log
	Origins         []string           // of pages that may read and write here, as https://example.com
	Hosts           []string           // names of this server besides localhost
	Limits          flowcontrol.Limits // of all users; without an Authenticator each address is a user
}

// recorder returns that of History; nil: there is none.
func (o *Options) recorder() timeline.Recorder {
	if o.History == nil {
		return nil
	}
	return o.History.Recorder
}

// guard makes the Claim decide about the writes of clients, and returns the store for those of the server itself.
func (o *Options) guard() (own etcdstore.Store) {
	if o.Claim == nil {
		return o.Store
	}
	o.Store = o.Claim.ForClients()
	return o.Claim.ForItself()
}

// complete sets defaults. The error names an option that is wrong.
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

// newStore returns the store of the resources of a catalog.
func (o *Options) newStore(resources *catalog.Catalog, control *access.Control) (*storage.Store, error) {
	allocator, err := o.newAddresses(resources)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	store := storage.New(storage.Config{
		Etcd: o.Store, Prefix: o.Prefix, Claim: o.Claim, Catalog: resources, Logger: o.Logger, Audit: control.AuditOwn,
		Admission: admission.New(admission.Config{Catalog: resources, Authorizer: control.Authorizer(), Logger: o.Logger, Controlled: o.ExternalGarbageCollector}),
		Collect:   o.GarbageCollector, CollectedElsewhere: o.ExternalGarbageCollector, CollectLimit: o.GarbageCollectorLimit,
		GracefulDeletion: o.GracefulDeletion || o.ExternalGarbageCollector, CreateNamespaces: o.CreateNamespaces, RequireNamespaces: o.RequireNamespaces, Addresses: allocator,
	})
	if allocator != nil {
		allocator.CreateIPAddresses(servicecidrs.Creator(store))
	}
	return store, nil
}

// newAddresses returns the allocator of the addresses of Services; nil: clients choose them.
func (o *Options) newAddresses(resources *catalog.Catalog) (*addresses.Allocator, error) {
	if len(o.ServiceClusterIPs) == 0 {
		return nil, nil //nolint:nilnil // see above
	}
	services := informer.Source{Catalog: resources, Resource: corev1.SchemeGroupVersion.WithResource("services")}
	serviceCIDRs := informer.Source{Catalog: resources, Resource: networkingv1.SchemeGroupVersion.WithResource("servicecidrs")}
	ipAddresses := resources.Current().Registry.Lookup(networkingv1.GroupName, "v1", "ipaddresses")
	return addresses.New(addresses.Config{
		Store: o.Store, Logger: o.Logger, Key: "revtail/addresses" + o.Prefix + "/", Ranges: o.ServiceClusterIPs, NodePorts: o.ServiceNodePorts,
		Services: services.Cache, ServiceCIDRs: serviceCIDRs.Cache,
		IPAddressKey: func(address string) string { return ipAddresses.Key(o.Prefix, resource.Scope{Name: address}) },
	})
}
