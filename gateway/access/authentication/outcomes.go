package authentication

import (
	"crypto/sha256"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
)

// maxOutcomes limits outcomes. A client that fills them with refused credentials only makes others be checked again.
const maxOutcomes = 4096

// outcomes keep the results of checks for a while, under the digests of the credentials, which themselves are kept nowhere.
type outcomes struct{ *cache.LRUExpireCache }

type outcome struct {
	identity *Identity
	err      error
}

func newOutcomes() outcomes { return outcomes{cache.NewLRUExpireCache(maxOutcomes)} }

// get returns the result of an earlier check, if that still holds.
func (o outcomes) get(digest [sha256.Size]byte) (known outcome, ok bool) {
	value, _ := o.Get(digest)
	known, ok = value.(outcome)
	return known, ok && (known.err != nil || !known.identity.expired(time.Now()))
}
