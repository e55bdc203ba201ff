package journal

// tail is the newest state of a key, to which the next one is compared.
type tail struct {
	value []byte
	depth int
	none  bool // the key does not exist, or its value is not kept
}

// tails keeps the newest states of the keys that change often, because reading them from the database costs more than a delta.
type tails struct {
	byKey map[string]tail
	bytes int
	limit int // of bytes
}

const (
	// maxTails bounds the memory of the tails of a range, in bytes.
	maxTails = 64 << 20
	// tailOverhead is about what a tail takes beside its key and its value.
	tailOverhead = 96
)

func newTails(limit int) tails { return tails{byKey: make(map[string]tail), limit: limit} }

func (t *tails) set(key string, next tail) {
	t.forget(key)
	t.byKey[key] = next
	t.bytes += len(key) + len(next.value) + tailOverhead
}

// trim frees memory. It is called between two batches, because the states of a batch are nowhere else before it is committed.
func (t *tails) trim() {
	for key := range t.byKey { // in no order
		if t.bytes <= t.limit {
			return
		}
		t.forget(key)
	}
}

func (t *tails) forget(key string) {
	if old, ok := t.byKey[key]; ok {
		t.bytes -= len(key) + len(old.value) + tailOverhead
		delete(t.byKey, key)
	}
}
