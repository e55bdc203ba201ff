package gateway

import "revtail/etcdstore"

const (
	// firstPage is how many keys are asked for when nothing is known of their values, which can have more than a megabyte each,
	// and pageBytes about how large a page is to be.
	firstPage = 16
	pageBytes = 4 << 20
)

// pager says how many keys to ask of etcd at a time: few at first, and then as many as come to pageBytes if they are like those
// before, but not many times as many at once.
type pager struct{ next int }

// limit is how many keys to ask for now.
func (p *pager) limit(most int) int {
	if p.next == 0 {
		p.next = firstPage
	}
	return min(p.next, most)
}

// took notes a page, and returns how many bytes it has.
func (p *pager) took(kvs []etcdstore.KV) (bytes int) {
	for _, kv := range kvs {
		bytes += len(kv.Key) + len(kv.Value)
	}
	if n := len(kvs); n > 0 {
		p.next = max(1, min(n*pageBytes/max(bytes, 1), 4*n))
	}
	return bytes
}
