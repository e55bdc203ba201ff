package authentication

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxCached bounds a cache. Who can fill it with what is refused only costs others a second look.
const maxCached = 4096

// cache remembers for a moment what became of credentials, by their digest: they themselves are kept nowhere. The zero value
// is ready.
type cache struct {
	mu      sync.Mutex // guards the field below
	entries map[[sha256.Size]byte]outcome
}

type outcome struct {
	identity *Identity
	err      error
	until    time.Time
}

func (c *cache) get(key [sha256.Size]byte, now time.Time) (*Identity, error, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.entries[key]
	if !ok || !now.Before(found.until) {
		return nil, nil, false
	}
	return found.identity, found.err, true
}

func (c *cache) put(key [sha256.Size]byte, identity *Identity, err error, now, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = make(map[[sha256.Size]byte]outcome)
	}
	if len(c.entries) >= maxCached {
		for key, old := range c.entries {
			if !now.Before(old.until) {
				delete(c.entries, key)
			}
		}
	}
	if len(c.entries) >= maxCached {
		clear(c.entries)
	}
	c.entries[key] = outcome{identity, err, until}
}
