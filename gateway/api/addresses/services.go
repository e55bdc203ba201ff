package addresses

import (
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strconv"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/api/kinds"
	"revtail/gateway/watchcache"
)

// spec is the part of a Service that has its addresses.
type spec struct {
	ClusterIP           string   `json:"clusterIP"`
	ClusterIPs          []string `json:"clusterIPs"`
	HealthCheckNodePort int      `json:"healthCheckNodePort"`
	Ports               []struct {
		NodePort int `json:"nodePort"`
	} `json:"ports"`
}

// specOf returns that of an object; a zero one if it is no Service.
func specOf(object map[string]any) spec {
	var service struct {
		Spec spec `json:"spec"`
	}
	if text, err := encoding.Marshal(object); err == nil {
		_ = json.Unmarshal(text, &service) // it was a Service when its addresses were allocated
	}
	return service.Spec
}

// ipsOf returns the cluster IPs of a Service.
func ipsOf(s spec) (out []string) {
	for _, ip := range append(s.ClusterIPs, s.ClusterIP) { // an old one has no clusterIPs
		if addr, err := netip.ParseAddr(ip); err == nil && !slices.Contains(out, addr.String()) {
			out = append(out, addr.String())
		}
	}
	return out
}

// addressesOf returns the cluster IPs and node ports of a Service.
func addressesOf(s spec) []string {
	out := ipsOf(s)
	for _, port := range s.Ports {
		if port.NodePort != 0 {
			out = append(out, strconv.Itoa(port.NodePort))
		}
	}
	if s.HealthCheckNodePort != 0 {
		out = append(out, strconv.Itoa(s.HealthCheckNodePort))
	}
	return out
}

// checkFree fails with kinds.ErrAddressTaken if a Service has a reserved address. Of those that were written after the last reservation of the address, written is
// the newest revision at least.
func (p *pool) checkFree(address string, written etcdstore.Revision) error {
	services, err := p.config.Services()
	if err == nil {
		err = services.WaitUntil(p.ctx, written)
	}
	_, late := errors.AsType[*watchcache.TooLargeError](err)
	if err != nil && !late {
		return err
	}
	taken, err := p.inCache(services)
	if err != nil || !late && !taken[address] {
		return err
	}
	newest, err := services.Newest(p.ctx) // the Service may have been deleted meanwhile
	if err == nil {
		err = services.WaitUntil(p.ctx, newest)
	}
	if err == nil {
		taken, err = p.inCache(services)
	}
	if err == nil && taken[address] {
		return kinds.ErrAddressTaken
	}
	return err
}

// checkTaken fails with kinds.ErrAddressTaken if a Service in the cache has an address.
func (p *pool) checkTaken(address string) error {
	taken, err := p.taken()
	if err == nil && taken[address] {
		return kinds.ErrAddressTaken
	}
	return p.fail(err)
}

// taken returns the addresses of all Services in the cache.
func (p *pool) taken() (map[string]bool, error) {
	services, err := p.config.Services()
	if err != nil {
		return nil, err
	}
	return p.inCache(services)
}

// inCache returns the addresses of all Services in the cache.
func (p *pool) inCache(services *watchcache.Cache) (map[string]bool, error) {
	list, err := services.List(p.ctx, watchcache.ListQuery{})
	if err != nil {
		return nil, err
	}
	taken := make(map[string]bool)
	for _, addresses := range p.services.All(list, func(o *watchcache.Object) []string { return addressesOf(stored(o)) }) {
		for _, address := range addresses {
			taken[address] = true
		}
	}
	return taken, nil
}

// stored returns the spec of a Service in a cache; a zero one if another program has stored what is no Service.
func stored(o *watchcache.Object) spec {
	var service struct {
		Spec spec `json:"spec"`
	}
	if !o.Shown() || json.Unmarshal(o.JSON, &service) != nil {
		return spec{}
	}
	return service.Spec
}

// ClusterIPs returns the cluster IPs of a Service in a cache, in the form that is the name of their IPAddress.
func ClusterIPs(o *watchcache.Object) []string { return ipsOf(stored(o)) }
