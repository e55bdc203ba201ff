package watchcache

import "sync"

// memos is how many different things a Memo keeps.
const memos = 4

// Memo keeps what was made of a batch for the next watcher that gets the same. It is safe for concurrent use.
type Memo struct {
	mu   sync.Mutex // guards the field below
	made []memo
}

type memo struct {
	of    any
	bytes []byte
}

// Bytes returns what make returns, which is called once for equal values of what it is made of, if these are few. Nobody may
// modify it.
func (m *Memo) Bytes(of any, make func() []byte) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, made := range m.made {
		if made.of == of {
			return made.bytes
		}
	}
	bytes := make()
	if len(m.made) < memos {
		m.made = append(m.made, memo{of, bytes})
	}
	return bytes
}
