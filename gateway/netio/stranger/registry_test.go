package stranger

import (
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// guests adds strangers to a small registry and records which of them were cut.
type guests struct {
	*Registry
	cuts []string
}

// newGuests returns a registry with room for n strangers that have sent nothing.
func newGuests(n int) *guests {
	g := &guests{Registry: NewRegistry()}
	g.max = n * connSize
	return g
}

func (g *guests) add(name string) *Stranger {
	return g.Add(func() { g.cuts = append(g.cuts, name) })
}

func (g *guests) want(t *testing.T, strangers int, cuts ...string) {
	t.Helper()
	if figures := g.Figures(); figures.Strangers != strangers || int(figures.Cut) != len(cuts) || !slices.Equal(g.cuts, cuts) {
		t.Errorf("%+v, %v are cut; want %d strangers, and %v", figures, g.cuts, strangers, cuts)
	}
}

// TestOldestIdleStrangerIsCut checks who is cut when there is no room: the one whose last step is the oldest, and none that are known.
func TestOldestIdleStrangerIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuests(3)
		known, stepped := g.add("known"), g.add("stepped")
		g.add("oldest")
		<-time.After(grace)
		stepped.Step()
		known.Known()
		g.add("third")
		g.want(t, 3)
		g.add("fourth")
		g.want(t, 3, "oldest")
		stepped.Leave()
		known.Leave()
		g.add("fifth")
		g.want(t, 3, "oldest")
	})
}

// TestAddWaits checks that those who have just connected are not cut for the next one: it waits until one of them leaves, or has been idle
// for a while.
func TestAddWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuests(1)
		first, began := g.add("first"), time.Now()
		time.AfterFunc(grace/2, first.Known)
		g.add("second")
		if waited := time.Since(began); waited != grace/2 {
			t.Errorf("waited %v for one that became known", waited)
		}
		g.want(t, 1)
		began = time.Now()
		g.add("third")
		if waited := time.Since(began); waited != grace {
			t.Errorf("waited %v for one that is idle", waited)
		}
		g.want(t, 1, "second")
	})
}

// TestMemoryOfStrangersIsBounded checks that a connection that fills more than it may is cut, and that the oldest are cut when all together
// fill more, also those that are not idle for long.
func TestMemoryOfStrangersIsBounded(t *testing.T) {
	g := newGuests(8)
	old, other := g.add("old"), g.add("other")
	other.Charge(MaxConn - connSize)
	g.want(t, 1, "old")
	other.Charge(-100)
	other.Charge(100)
	g.want(t, 1, "old")
	other.Charge(1)
	g.want(t, 0, "old", "other")
	old.Charge(MaxConn)
	old.Step()
	old.Leave()
	if figures := g.Figures(); figures.Bytes != 0 {
		t.Errorf("%d bytes are charged to nobody", figures.Bytes)
	}
}

// TestKnownIsTold checks that Known tells once, and that no stranger is a known one.
func TestKnownIsTold(t *testing.T) {
	told := 0
	s := newGuests(1).add("known")
	s.OnKnown(func() { told++ })
	if s.IsKnown() {
		t.Error("a new stranger is known")
	}
	s.Known()
	s.Known()
	if !s.IsKnown() || told != 1 {
		t.Errorf("known: %v, told %d times", s.IsKnown(), told)
	}
	none := Of(new(net.TCPConn))
	none.Known()
	none.Step()
	none.Charge(MaxConn + 1)
	none.Leave()
	if !none.IsKnown() || FromContext(t.Context()) != nil || FromContext(NewContext(t.Context(), s)) != s {
		t.Error("none, or another one")
	}
}
