package cputime

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// worker does pieces of work of a length, one after the other, until they are done or refused.
func worker(a *Account, pieces int, length time.Duration, done func(err error)) {
	turn := a.Turn()
	defer turn.End()
	for range pieces {
		if err := turn.Continue(); err != nil {
			done(err)
			return
		}
		<-time.After(length)
	}
	turn.End()
	done(nil)
}

// TestLightUserOvertakesAHeavyOne checks that a user with little work does not wait for the queue of another one.
func TestLightUserOvertakesAHeavyOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		heavy, light := s.Account("heavy"), s.Account("light")
		for range 900 {
			go worker(heavy, 2, 3*time.Millisecond, func(error) {})
		}
		synctest.Wait()
		for range 20 {
			began := time.Now()
			worker(light, 1, time.Millisecond, func(err error) {
				if err != nil {
					t.Error(err)
				}
			})
			if took := time.Since(began); took > 10*time.Millisecond { // the bubble's clock is exact
				t.Errorf("the light user waited for %v", took)
			}
		}
		<-time.After(time.Minute)
	})
}

// TestEqualUsersGetEqualTime checks that the number of turns that a user asks for does not matter.
func TestEqualUsersGetEqualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(2)
		few, many := s.Account("few"), s.Account("many")
		stop := make(chan struct{})
		keepBusy := func(a *Account, goroutines int, length time.Duration) {
			for range goroutines {
				go func() {
					for {
						select {
						case <-stop:
							return
						default:
							worker(a, 1, length, func(error) {})
						}
					}
				}()
			}
		}
		keepBusy(few, 4, 5*time.Millisecond)
		keepBusy(many, 400, time.Millisecond)
		<-time.After(10 * time.Second)
		users := s.Usage()
		close(stop)
		if most, least := users[0], users[1]; most.Used-least.Used > 0.1 || least.Refused+most.Refused > 0 {
			t.Errorf("%+v and %+v", least, most)
		}
		<-time.After(time.Minute)
	})
}

// TestOverloadIsRefused checks that a user who asks for too much for a minute has turns refused, one of two, and another user none.
func TestOverloadIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		heavy, light := s.Account("heavy"), s.Account("light")
		var refused, ran atomic.Int64
		finished := func(err error) {
			overload := new(OverloadError)
			switch {
			case err == nil:
				ran.Add(1)
			case errors.As(err, &overload) && overload.User == "heavy" && overload.Wait > waitLimit:
				refused.Add(1)
			default:
				t.Error(err)
			}
		}
		for range 1000 {
			go worker(heavy, 30, 3*time.Millisecond, finished) // 90 s
		}
		go func() {
			for range 100 {
				worker(light, 1, time.Millisecond, func(err error) {
					if err != nil {
						t.Error(err)
					}
				})
				<-time.After(time.Second)
			}
		}()
		<-time.After(busyLimit - time.Second)
		if n := refused.Load(); n > 0 {
			t.Errorf("%d turns were refused after less than %v", n, busyLimit)
		}
		<-time.After(time.Hour)
		if r, n := refused.Load(), ran.Load(); r == 0 || n == 0 || r+n != 1000 {
			t.Errorf("%d turns were refused, %d ended, of 1000", r, n)
		}
		if s.free != 1 || len(s.waiting) > 0 {
			t.Errorf("%d free, %d users wait", s.free, len(s.waiting))
		}
		heavy.Release()
		light.Release()
		if users := s.Usage(); len(users) > 0 || s.waiters != 0 {
			t.Errorf("%+v", users)
		}
	})
}

// TestLoneWorkIsNeverRefused checks that one long piece of work, cut into turns, is not refused while another user works as well.
func TestLoneWorkIsNeverRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		a, b := s.Account("a"), s.Account("b")
		done := make(chan error, 2)
		go worker(a, 100_000, 3*time.Millisecond, func(err error) { done <- err })
		go worker(b, 100_000, 3*time.Millisecond, func(err error) { done <- err })
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestIdleTimeIsNoCredit checks that a user who was idle does not take all turns from one who was busy, and that work without turns costs the
// user little later.
func TestIdleTimeIsNoCredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		busy, idle := s.Account("busy"), s.Account("idle")
		worker(busy, 20_000, 3*time.Millisecond, func(error) {}) // a minute
		idle.Charge(time.Hour)
		for range 100 {
			go worker(idle, 100, 3*time.Millisecond, func(error) {})
		}
		synctest.Wait()
		began := time.Now()
		worker(busy, 1, time.Millisecond, func(error) {})
		if took := time.Since(began); took > 10*time.Millisecond {
			t.Errorf("the busy user waited for %v", took)
		}
		<-time.After(time.Hour)
	})
}

func TestNilAccountNeverWaits(t *testing.T) {
	var s *Scheduler
	a := s.Account("any")
	turn := a.Turn()
	if err := turn.Continue(); err != nil {
		t.Error(err)
	}
	turn.End()
	a.Charge(time.Second)
	a.Release()
}

// BenchmarkTurn is the cost of a turn without contention.
func BenchmarkTurn(b *testing.B) {
	a := New(0).Account("user")
	for b.Loop() {
		turn := a.Turn()
		_ = turn.Continue()
		turn.End()
	}
}

// TestContinueBytesReadsTheClockOnceInManyBytes checks that a search of small documents does not read the clock for each, and gives its turn
// back in time.
func TestContinueBytesReadsTheClockOnceInManyBytes(t *testing.T) {
	s := New(1)
	clock, reads := time.Now(), 0
	s.now = func() time.Time {
		reads++
		return clock
	}
	account := s.Account("user")
	defer account.Release()
	search := func(turn *Turn, documents, size int) {
		for range documents {
			if err := turn.ContinueBytes(size); err != nil {
				t.Fatal(err)
			}
		}
	}
	turn := account.Turn()
	search(&turn, 1, 10)
	if reads == 0 || s.free != 0 {
		t.Fatalf("the clock was read %d times before the first document, and %d turns are free", reads, s.free)
	}
	reads = 0
	if search(&turn, 100, clockBytes/10); reads < 9 || reads > 10 {
		t.Errorf("the clock was read %d times while 100 documents of a tenth of clockBytes were searched; want 10", reads)
	}
	reads = 0
	if search(&turn, 10, clockBytes); reads != 10 {
		t.Errorf("the clock was read %d times while 10 documents of clockBytes were searched; want 10", reads)
	}
	clock = clock.Add(slice)
	search(&turn, 1, clockBytes)
	if used := s.Usage()[0].Used; used != slice.Seconds() {
		t.Errorf("%v s are counted after a slice; want %v", used, slice.Seconds())
	}
	turn.End()
	reads = 0
	if search(&turn, 1, 10); reads == 0 {
		t.Error("a document after the end of the turn does not begin another one")
	}
	turn.End()
}
