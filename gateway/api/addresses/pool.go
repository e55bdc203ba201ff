package addresses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/kinds"
)

const (
	// leaseTTL is how long a reservation stays if the gateway dies. It is longer than leaseUse and any request.
	leaseTTL = 5 * time.Minute
	// leaseUse is how long a lease is used for new reservations.
	leaseUse = 2 * time.Minute
	// writtenKey is the key, below Config.Key, of the newest revision at which a Service with new addresses was written.
	writtenKey = "written"
	// ManagedBy is the value of networkingv1.LabelManagedBy of the IPAddresses of Services.
	ManagedBy = "ipallocator.k8s.io"
)

// pool reserves addresses: see DESIGN.md. One allocation at a time uses it.
type pool struct {
	config Config

	ctx      context.Context      // of the allocation
	err      error                // of the store, in the allocation
	reserved map[string]time.Time // by this gateway, with the end of the lease
	lease    int64
	granted  time.Time                 // when lease was
	services catalog.Decoded[[]string] // the addresses of Services
}

// begin begins an allocation, or the end of one.
func (p *pool) begin(ctx context.Context) { p.ctx, p.err = ctx, nil }

// failure returns the error of the store in this allocation; nil: there was none.
func (p *pool) failure() error { return p.err }

// fail keeps an error of the store.
func (p *pool) fail(err error) error {
	if err != nil && !errors.Is(err, kinds.ErrAddressTaken) {
		p.err = err
	}
	return err
}

// reserve reserves an address until it is released. kinds.ErrAddressTaken says that another Service has it.
func (p *pool) reserve(address string) error {
	if time.Now().Before(p.reserved[address]) {
		return kinds.ErrAddressTaken
	}
	written, err := p.put(address)
	if err == nil {
		err = p.checkFree(address, written)
	}
	if err != nil {
		p.release(address)
	}
	return p.fail(err)
}

// put creates the key of a reservation. It returns the value of writtenKey at that revision.
func (p *pool) put(address string) (written etcdstore.Revision, err error) {
	if err := p.renewLease(); err != nil {
		return 0, err
	}
	key := p.config.Key + address
	read := []etcdstore.Op{{Verb: etcdstore.Get, Key: p.config.Key + writtenKey}}
	if _, err := netip.ParseAddr(address); err == nil {
		read = append(read, etcdstore.Op{Verb: etcdstore.Get, Key: p.config.IPAddressKey(address)})
	}
	done, err := p.config.Store.Transact(p.ctx, etcdstore.Txn{
		If:   []etcdstore.Condition{{Key: key, Of: etcdstore.OfModified, Is: etcdstore.Equal}},
		Then: append([]etcdstore.Op{{Verb: etcdstore.Put, Key: key, Value: []byte("{}"), Lease: p.lease}}, read...),
	})
	switch {
	case err != nil:
		p.granted = time.Time{} // the lease may have ended
		return 0, err
	case !done.Succeeded:
		return 0, kinds.ErrAddressTaken
	}
	p.reserved[address] = p.granted.Add(leaseTTL)
	last := done.Results[1].KV
	switch {
	case len(read) > 1 && done.Results[2].KV != nil && !isOfService(done.Results[2].KV.Value):
		return 0, kinds.ErrAddressTaken
	case last == nil:
		return 0, p.initialise()
	}
	n, err := strconv.ParseInt(string(last.Value), 10, 64)
	return etcdstore.Revision(n), err
}

// isOfService reports whether an IPAddress says which Service has it. Others are made by clients that use the address for something else.
func isOfService(ipAddress []byte) bool {
	var stored metav1.PartialObjectMetadata
	return json.Unmarshal(ipAddress, &stored) == nil && stored.Labels[networkingv1.LabelManagedBy] == ManagedBy
}

// initialise creates writtenKey, because a comparison with the value of a key that does not exist fails.
func (p *pool) initialise() error {
	key := p.config.Key + writtenKey
	_, err := p.config.Store.Transact(p.ctx, etcdstore.Txn{
		If:   []etcdstore.Condition{{Key: key, Of: etcdstore.OfModified, Is: etcdstore.Equal}},
		Then: []etcdstore.Op{{Verb: etcdstore.Put, Key: key, Value: formatRevision(0)}},
	})
	return err
}

// formatRevision returns a revision so that the order of the values is that of the revisions.
func formatRevision(r etcdstore.Revision) []byte { return fmt.Appendf(nil, "%020d", r) }

func (p *pool) renewLease() error {
	if time.Since(p.granted) < leaseUse {
		return nil
	}
	granted := time.Now()
	lease, _, err := p.config.Store.Grant(p.ctx, leaseTTL)
	if err == nil {
		p.lease, p.granted = lease, granted
	}
	return err
}

// end ends the reservations of addresses. A Service has them that was written at a revision; zero: none. What cannot be ended ends with its lease.
func (p *pool) end(addresses []string, written etcdstore.Revision) error {
	var ended []etcdstore.Op
	for _, address := range addresses {
		if _, ok := p.reserved[address]; ok {
			delete(p.reserved, address)
			ended = append(ended, etcdstore.Op{Verb: etcdstore.Delete, Key: p.config.Key + address})
		}
	}
	if len(ended) == 0 {
		return nil
	}
	key, value := p.config.Key+writtenKey, formatRevision(written)
	put := etcdstore.Op{Verb: etcdstore.Put, Key: key, Value: value}
	later := etcdstore.Txn{If: []etcdstore.Condition{{Key: key, Of: etcdstore.OfValue, Is: etcdstore.Less, Value: value}}, Then: append(ended, put), Else: ended}
	if written == 0 {
		later = etcdstore.Txn{Then: ended}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), finishTimeout)
	defer cancel()
	_, err := p.config.Store.Transact(ctx, later)
	return err
}

// reservedOf returns the addresses of a Service that are reserved.
func (p *pool) reservedOf(object map[string]any) []string {
	return slices.DeleteFunc(addressesOf(specOf(object)), func(address string) bool {
		_, ok := p.reserved[address]
		return !ok
	})
}

// release ends the reservation of an address that no Service gets.
func (p *pool) release(address string) { _ = p.end([]string{address}, 0) }
