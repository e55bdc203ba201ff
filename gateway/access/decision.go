package access

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"
	"time"

	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
)

// Decision identifies what Revalidate decides about open streams: callers with equal Decisions share its result. It is comparable.
type Decision struct {
	credential *authentication.Identity // whose credential its issuer may revoke; nil: DecisionOf has checked the credential
	digest     [sha256.Size]byte        // of the users and of what they ask for
}

// DecisionOf returns the Decision about an open stream of a caller at a time, or a Status, 401, if the credential has ended and no other server is to
// be asked for that.
func (c *Control) DecisionOf(caller *Caller, now time.Time) (d Decision, err error) {
	switch {
	case caller.Real.Revocable():
		d.credential = caller.Real
	case !caller.Identity.Holds(now):
		return d, errUnauthorized
	}
	h := digester{Hash: sha256.New()}
	h.identity(caller.Identity)
	if caller.Real != caller.Identity {
		h.identity(caller.Real)
	}
	for _, right := range caller.impersonating {
		h.attributes(right)
	}
	h.attributes(caller.info.Attributes)
	h.Sum(d.digest[:0])
	return d, nil
}

// Phase returns a number from 0 to 1, the same for equal Decisions, that spreads Decisions evenly over a time.
func (d Decision) Phase() float64 {
	return float64(binary.BigEndian.Uint64(d.digest[:])) / (1 << 64)
}

// Compare orders Decisions by their Phase.
func (d Decision) Compare(other Decision) int { return bytes.Compare(d.digest[:], other.digest[:]) }

// Delegates reports whether another server decides about requests, so that decisions take time.
func (c *Control) Delegates() bool { return c.delegate != nil }

// MayContinue returns ErrUndecided unless an open stream of a caller may stay open although Revalidate has no result. It asks no other server.
func (c *Control) MayContinue(caller *Caller) error {
	if c.delegate == nil {
		return nil
	}
	for _, right := range caller.impersonating {
		if !c.delegate.Kept(caller.Real, right) {
			return ErrUndecided
		}
	}
	if !c.delegate.Kept(caller.Identity, caller.info.Attributes) {
		return ErrUndecided
	}
	return nil
}

// digester makes digests of texts with their lengths, so that different lists have different digests.
type digester struct{ hash.Hash }

func (h digester) texts(all ...string) {
	h.length(len(all))
	for _, text := range all {
		h.length(len(text))
		_, _ = h.Write([]byte(text)) // a hash returns no error
	}
}

func (h digester) length(n int) {
	var prefix [8]byte
	binary.BigEndian.PutUint64(prefix[:], uint64(n))
	_, _ = h.Write(prefix[:]) // a hash returns no error
}

func (h digester) identity(i *authentication.Identity) {
	h.texts(i.Name, i.UID)
	h.texts(i.Groups...)
	h.length(len(i.Extra))
	for _, key := range slices.Sorted(maps.Keys(i.Extra)) {
		h.texts(key)
		h.texts(i.Extra[key]...)
	}
}

func (h digester) attributes(a authorization.Attributes) {
	h.texts(a.Verb, a.Group, a.Version, a.Resource, a.Subresource, a.Namespace, a.Name, a.FieldSelector, a.LabelSelector, a.Key, a.Path)
	h.texts(a.Keys...)
}
