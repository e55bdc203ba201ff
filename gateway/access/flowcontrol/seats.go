package flowcontrol

import "time"

// Seats are some seats of a pool that a request holds. The zero value holds none, and its methods do nothing. The methods may be called by any
// goroutine.
type Seats struct {
	pool  *Pool
	flow  *flow
	n     int64
	first bool // the flow held no others when it got them
}

// Release gives the seats back. Further calls have no effect.
func (s *Seats) Release() {
	if s.pool == nil {
		return
	}
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.flow == nil {
		return
	}
	p.ended.add(time.Now())
	s.leaveLocked()
}

// leaveLocked takes the seats from their flow.
func (s *Seats) leaveLocked() {
	f := s.flow
	s.pool.addLocked(f, -s.n)
	f.refs--
	s.flow, s.n, s.first = nil, 0, false
	s.pool.placeLocked(f)
	s.pool.dispatchLocked()
}

// Grow takes n more seats, by the rule of the pool, and does not wait. What a flow has got as its first seats may use all that is free. The
// error is a *RejectedError; the seats are still held.
func (s *Seats) Grow(n int64) error {
	if s.pool == nil {
		return nil
	}
	p := s.pool
	p.mu.Lock()
	l := first
	if !s.first {
		l = p.levelLocked(s.flow, n)
	}
	if p.exceedsLocked(s.flow, n) || !p.fitsLocked(l, n) {
		err := p.rejectLocked(s.flow, reasonOf(l))
		p.mu.Unlock()
		p.log(err)
		return err
	}
	p.addLocked(s.flow, n)
	s.n += n
	p.mu.Unlock()
	return nil
}

// Set makes the seats n, more or fewer, whatever is free: for what cannot be refused.
func (s *Seats) Set(n int64) {
	if s.pool == nil {
		return
	}
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.flow == nil {
		return
	}
	p.addLocked(s.flow, n-s.n)
	s.n = n
	p.placeLocked(s.flow)
	p.dispatchLocked()
}

// Move makes the seats those of another user, whatever that user holds already.
func (s *Seats) Move(user string) {
	if s.pool == nil {
		return
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	s.moveLocked(s.pool.flowLocked(user))
}

// Park makes the seats those of nobody, so that no share contains them.
func (s *Seats) Park() {
	if s.pool == nil {
		return
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	s.moveLocked(&s.pool.parked)
}

func (s *Seats) moveLocked(to *flow) {
	if s.flow == nil || s.flow == to {
		return
	}
	n, alone := s.n, to.held == 0
	to.refs++
	s.pool.addLocked(to, n)
	s.leaveLocked()
	s.flow, s.n, s.first = to, n, alone
	s.pool.placeLocked(to)
}
