package addresses

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/util/net"

	"revtail/etcdstore"
	"revtail/gateway/api/kinds"
	"revtail/gateway/watchcache"
)

// Config configures an Allocator.
type Config struct {
	Store        etcdstore.Store
	Logger       *slog.Logger
	Key          string                            // prefix of the keys of reservations
	Services     func() (*watchcache.Cache, error) // the cache of Services
	ServiceCIDRs func() (*watchcache.Cache, error) // the cache of ServiceCIDRs
	IPAddressKey func(address string) string       // the key of an IPAddress
	Ranges       []netip.Prefix                    // of cluster IPs: one, or one of each family, of which the first is the default
	NodePorts    net.PortRange
}

// Allocator allocates addresses. Allocations of one Allocator follow one another. It is safe for concurrent use.
type Allocator struct {
	services *kinds.ServiceAllocator
	first    netip.Addr
	pool     *pool
	turn     chan struct{} // holds one while an allocation is made

	createIPAddress CreateIPAddress // nil: package servicecidrs creates all of them later
}

// CreateIPAddress creates the IPAddress of a cluster IP that a Service has. It is no error that there is one.
type CreateIPAddress func(ctx context.Context, address, namespace, service string) error

// New returns an Allocator. The caller has checked that there are one or two ranges, of at least two addresses each, and node ports.
func New(config Config) (*Allocator, error) {
	a := &Allocator{pool: &pool{config: config, reserved: make(map[string]time.Time)}, turn: make(chan struct{}, 1)}
	var ips []kinds.ClusterIPs
	for _, prefix := range config.Ranges {
		ips = append(ips, kinds.ClusterIPs{Addresses: &networks{a.pool, prefix}, Network: prefix})
		if !a.first.IsValid() {
			a.first = prefix.Masked().Addr().Next()
		}
	}
	var err error
	a.services, err = kinds.NewServiceAllocator(ips, nodePorts(config.NodePorts, a.pool))
	return a, err
}

// CreateIPAddresses makes the allocator create the IPAddresses of a Service before its write is answered. It is called before the first allocation.
func (a *Allocator) CreateIPAddresses(create CreateIPAddress) { a.createIPAddress = create }

// Ranges returns the ranges of cluster IPs that the gateway was given. There are none on a nil Allocator.
func (a *Allocator) Ranges() []netip.Prefix {
	if a == nil {
		return nil
	}
	return a.pool.config.Ranges
}

// First returns the first address of the first range, which is that of the API server's own Service in a cluster.
func (a *Allocator) First() netip.Addr { return a.first }

// Begin begins the allocation of a write. There is none on a nil Allocator.
func (a *Allocator) Begin(dryRun bool) *Allocation {
	if a == nil {
		return nil
	}
	return &Allocation{allocator: a, dryRun: dryRun}
}

func (a *Allocator) allocate(ctx context.Context, object map[string]any, do func() (func(bool), error)) (finish, error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	a.pool.begin(ctx)
	ended, err := do()
	if failure := a.pool.failure(); err != nil && failure != nil {
		return nil, failure // otherwise it would be a mistake of the client
	}
	if err != nil {
		return nil, err
	}
	if len(a.pool.reserved) == 0 { // nor has another request reserved any
		return func(etcdstore.Revision, error) {}, nil
	}
	reserved := a.pool.reservedOf(object)
	return func(written etcdstore.Revision, err error) {
		if err == nil && written > 0 { // it was not a dry run
			a.createIPAddresses(object, reserved)
		}
		a.finish(object, ended, written, err)
	}, nil
}

// createIPAddresses creates the IPAddresses of new cluster IPs of a Service. Package servicecidrs creates those for which that fails.
func (a *Allocator) createIPAddresses(object map[string]any, reserved []string) {
	if a.createIPAddress == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), finishTimeout) //nolint:forbidigo // the request may have ended
	defer cancel()
	metadata, _ := object["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	for _, address := range reserved {
		if _, err := netip.ParseAddr(address); err != nil { // a port
			continue
		}
		if err := a.createIPAddress(ctx, address, namespace, name); err != nil {
			a.pool.config.Logger.Debug("an IPAddress is created later", "name", address, "error", err)
		}
	}
}

// finishTimeout bounds the end of reservations, which end by themselves later.
const finishTimeout = 5 * time.Second

// finish ends the reservations of a Service. If it is unknown whether the Service was written they stay until their lease ends.
func (a *Allocator) finish(object map[string]any, ended func(bool), written etcdstore.Revision, err error) {
	if errors.Is(err, etcdstore.ErrUnknownOutcome) {
		return
	}
	a.turn <- struct{}{}
	defer func() { <-a.turn }()
	a.pool.begin(context.Background()) //nolint:forbidigo // the request may have ended
	ended(err == nil)
	if err = a.pool.end(addressesOf(specOf(object)), written); err != nil {
		a.pool.config.Logger.Debug("reservations of addresses end with their lease", "error", err)
	}
}
