package addresses

import (
	"encoding/json"
	"errors"
	"net/netip"
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

// addressesOf returns the cluster IPs and node ports of a Service.
func addressesOf(s spec) (out []string) {
	for _, ip := range append(s.ClusterIPs, s.ClusterIP) { // an old one has no clusterIPs
		if addr, err := netip.ParseAddr(ip); err == nil {
			out = append(out, addr.String())
		}
	}
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

// addressed is a Service with addresses.
type addressed struct {
	revision  etcdstore.Revision
	addresses []string
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

// taken returns the addresses of all Services in the cache.
func (p *pool) taken() (map[string]bool, error) {
	services, err := p.config.Services()
	if err != nil {
		return nil, err
	}
	return p.inCache(services)
}

// inCache returns the addresses of all Services in the cache. It decodes only those that have changed since the last call.
func (p *pool) inCache(services *watchcache.Cache) (map[string]bool, error) {
	list, err := services.List(p.ctx, watchcache.ListQuery{})
	if err != nil {
		return nil, err
	}
	taken, known := make(map[string]bool), make(map[string]addressed)
	for o := range list.Objects {
		service, ok := p.known[o.Path()]
		if !ok || service.revision != o.Revision {
			var decoded struct {
				Spec spec `json:"spec"`
			}
			if o.Shown() && json.Unmarshal(o.JSON, &decoded) != nil {
				continue // another program has stored what is no Service
			}
			service = addressed{o.Revision, addressesOf(decoded.Spec)}
		}
		known[o.Path()] = service
		for _, address := range service.addresses {
			taken[address] = true
		}
	}
	p.known = known
	return taken, nil
}
