package authentication

import (
	"crypto/sha256"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
)

// maxOutcomes limits the cached outcomes. A client that fills the cache with refused credentials only costs others one more check.
const maxOutcomes = 4096

// outcomes cache the results of checks by the digest of the credential. The credential itself is not stored.
type outcomes struct{ *cache.LRUExpireCache }

type outcome struct {
	identity *Identity
	err      error
}

func newOutcomes() outcomes { return outcomes{cache.NewLRUExpireCache(maxOutcomes)} }

// get returns the result of an earlier check, unless the identity has expired since.
func (o outcomes) get(digest [sha256.Size]byte) (known outcome, ok bool) {
	value, _ := o.Get(digest)
	known, ok = value.(outcome)
	return known, ok && (known.err != nil || !known.identity.expired(time.Now()))
}
