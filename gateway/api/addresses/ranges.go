package addresses

import (
	"errors"
	"math/rand/v2"
)

// addressRange is a range of addresses with numbers from zero.
type addressRange struct {
	pool    *pool
	size    uint64
	dynamic uint64 // the first of those that are chosen before others: clients choose from the ones below, as in a cluster
	format  func(n uint64) string
}

// newAddressRange returns a range whose lower part, which has a share of the addresses within bounds, is for the choice of clients.
func newAddressRange(p *pool, size, share, most uint64, format func(uint64) string) addressRange {
	const least = 16
	dynamic := uint64(0)
	if size > least {
		dynamic = min(max(size/share, least), most)
	}
	return addressRange{p, size, dynamic, format}
}

// errFull says that all addresses of a range are taken.
var errFull = errors.New("range is full")

// guesses is how many addresses next tries before it looks at each one.
const guesses = 16

// next returns the number of an address that is not taken, and reserves it, but not in a dry run.
func (r *addressRange) next(dryRun bool) (uint64, error) {
	services, err := r.pool.config.Services()
	if err != nil {
		return 0, r.pool.fail(err)
	}
	taken, err := r.pool.inCache(services)
	if err != nil {
		return 0, r.pool.fail(err)
	}
	for n := range r.candidates {
		if taken[r.format(n)] {
			continue
		}
		if dryRun {
			return n, nil
		}
		if err := r.pool.reserve(r.format(n)); !errors.Is(err, errTaken) {
			return n, err
		}
	}
	return 0, errFull
}

// candidates yields random numbers of the dynamic part, then all of it from a random one on, and then the others.
func (r *addressRange) candidates(yield func(uint64) bool) {
	size := r.size - r.dynamic
	for range guesses {
		if !yield(r.dynamic + rand.Uint64N(size)) { //nolint:gosec // no secret
			return
		}
	}
	first := rand.Uint64N(size) //nolint:gosec // no secret
	for i := range size {
		if !yield(r.dynamic + (first+i)%size) {
			return
		}
	}
	for n := range r.dynamic {
		if !yield(n) {
			return
		}
	}
}

// has reports whether a Service has an address, according to the cache.
func (r *addressRange) has(n uint64) bool {
	services, err := r.pool.config.Services()
	if err != nil {
		return false
	}
	taken, err := r.pool.inCache(services)
	return err == nil && taken[r.format(n)]
}
