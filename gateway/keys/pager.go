package keys

import "revtail/etcdstore"

const (
	// firstPage is how many keys the first page has: a value may have more than a megabyte.
	firstPage = 16
	// pageBytes is about how large the other pages are.
	pageBytes = 4 << 20
)

// pager decides how many keys one request to etcd asks for: few at first, and then as many as come to pageBytes if they are as large
// as those before, but at most four times as many as before.
type pager struct{ next int }

// limit returns how many keys to ask for now under a limit.
func (p *pager) limit(limit int) int {
	if p.next == 0 {
		p.next = firstPage
	}
	return min(p.next, limit)
}

// took adapts to a page, and returns how many bytes it has.
func (p *pager) took(kvs []etcdstore.KV) (bytes int) {
	for _, kv := range kvs {
		bytes += len(kv.Key) + len(kv.Value)
	}
	if n := len(kvs); n > 0 {
		p.next = max(1, min(n*pageBytes/max(bytes, 1), 4*n))
	}
	return bytes
}
