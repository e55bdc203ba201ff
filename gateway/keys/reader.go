package keys

import (
	"context"
	"strconv"
	"strings"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/keys/keyrange"
)

const (
	// maxKeysPage is how many keys one request to etcd asks for at most.
	maxKeysPage = 500
	// maxKeysAnswer is about how many bytes of values an answer has at most, whatever the budget.
	maxKeysAnswer = 32 << 20
)

// keysReader reads what an answer shows, page after page, all as of one revision.
type keysReader struct {
	query     keyrange.Query
	selection selection
	memory    reservation

	revision etcdstore.Revision
	items    [][]byte
	count    int64              // keys that were read, selected or not
	selected int64              // of these
	modified etcdstore.Revision // the newest of these
	last     string             // key of these
	level    string             // of depth=1: the prefix that the last item shows; empty: it shows a key
	more     int64              // keys that follow
}

func (k *keysReader) read(ctx context.Context, store rangeStore) error {
	options := etcdstore.ListOptions{At: k.query.At, After: k.query.After, KeysOnly: k.withoutValues() && k.selection.filter == nil}
	onlyCount := k.query.Count && k.selection.filter == nil // etcd returns the number of keys with the first key
	var pages pager
	switch {
	case onlyCount:
		pages.next = 1
	case options.KeysOnly:
		pages.next = maxKeysPage
	}
	if store.keys.IsPrefix() && !options.KeysOnly && !onlyCount {
		if err := k.memory.reserve(ctx, firstReservation); err != nil {
			return err
		}
	}
	defer k.memory.complete()
	for {
		options.Limit = pages.limit(maxKeysPage)
		page, err := store.List(ctx, "", options)
		if err != nil {
			return err
		}
		if page.Revision < k.query.MinRevision {
			return &etcdstore.FutureError{Requested: k.query.MinRevision, Current: page.Revision}
		}
		k.revision, options.At = page.Revision, page.Revision
		pages.took(page.KVs)
		for i, kv := range page.KVs {
			if full, err := k.add(ctx, kv); full || err != nil {
				k.more = int64(len(page.KVs)-i) + page.Remaining
				return err
			}
		}
		if k.more = page.Remaining; k.more == 0 || onlyCount {
			return nil
		}
		options.After = k.after()
	}
}

// add adds a key to the answer. full: the answer has no room for it, and ends before it.
func (k *keysReader) add(ctx context.Context, kv etcdstore.KV) (full bool, err error) {
	if kv.Unreadable != nil {
		return false, kv.Unreadable
	}
	selected, err := k.selection.matches(ctx, kv)
	if err != nil {
		return false, err
	}
	if !selected || k.query.Count {
		k.pass(kv, selected)
		return false, nil
	}
	level := ""
	if k.query.Level {
		level = nextLevel(k.query.Keys, kv.Key)
	}
	shown := level != "" && level == k.level
	if !shown && (len(k.items) == k.query.Limit || k.memory.size > k.memory.page()) {
		return true, nil
	}
	k.pass(kv, true)
	k.level = level
	if !k.withoutValues() {
		if err := k.memory.grow(ctx, len(kv.Value)); err != nil {
			return false, err
		}
	}
	switch {
	case shown:
	case level != "":
		k.items = append(k.items, append(encoding.AppendKey([]byte{'{'}, level), '}'))
	default:
		shape := keyValue(kv, k.withoutValues())
		shape.Base64 = k.query.Base64
		k.items = append(k.items, k.selection.project(encoding.AppendKeyValue(nil, shape)))
	}
	return false, nil
}

// pass counts a key that was read.
func (k *keysReader) pass(kv etcdstore.KV, selected bool) {
	k.count++
	if selected {
		k.selected++
	}
	k.modified, k.last = max(k.modified, kv.Modified), kv.Key
}

func (k *keysReader) withoutValues() bool { return k.query.KeysOnly || k.query.Count || k.query.Level }

// after returns the key after which the next page begins: after the keys that begin with level. The exceptions are keys with more of
// these bytes, which no UTF-8 text has.
func (k *keysReader) after() string {
	if k.level == "" {
		return k.last
	}
	return max(k.last, k.level+"\xff\xff\xff\xff")
}

// document returns the answer.
func (k *keysReader) document() []byte {
	out := strconv.AppendInt([]byte(`{"revision":`), int64(k.revision), 10)
	if k.query.Count {
		return append(strconv.AppendInt(append(out, `,"count":`...), k.selected+k.more, 10), '}')
	}
	out = append(out, `,"items":[`...)
	for i, item := range k.items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	out = append(out, ']')
	if k.more > 0 {
		out = append(append(append(out, `,"continue":"`...), keyrange.Continue(k.revision, k.after())...), '"')
	}
	return append(out, '}')
}

// nextLevel returns the prefix directly below a range that holds a key; empty: the key itself is directly below.
func nextLevel(keys keyrange.Range, key string) string {
	rest := strings.TrimPrefix(key, keys.String())
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return keys.String() + rest[:i+1]
	}
	return ""
}

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
