package watchcache

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

func at(revision etcdstore.Revision) *event {
	return &event{revision: revision, current: &Object{Object: encoding.Object{JSON: []byte("{}")}, Revision: revision}}
}

func revisions(events []*event) []etcdstore.Revision {
	var out []etcdstore.Revision
	for _, e := range events {
		out = append(out, e.revision)
	}
	return out
}

func TestLogKeepsTheNewestEvents(t *testing.T) {
	l := log{limit: 8}
	l.reset(10)
	for revision := etcdstore.Revision(11); revision <= 30; revision++ {
		l.append(at(revision))
	}
	if got, want := l.next-l.first, uint64(8); got != want {
		t.Fatalf("the log holds %d events, want %d", got, want)
	}
	if l.floor != 22 {
		t.Errorf("floor is %d: every event later than 22 is held", l.floor)
	}
	got := revisions(l.read(nil, l.after(25), 100, 1<<20))
	if len(got) != 5 || got[0] != 26 || got[4] != 30 {
		t.Errorf("the events after 25 are %v, want 26 to 30", got)
	}
}

func TestLogReadsWholeRevisions(t *testing.T) {
	l := log{}
	l.reset(1)
	for _, revision := range []etcdstore.Revision{2, 3, 3, 3, 3, 4} {
		l.append(at(revision))
	}
	if got := revisions(l.read(nil, l.after(1), 2, 1<<20)); len(got) != 5 {
		t.Errorf("a step of 2 events is %v: it must end with the revision it began", got)
	}
	if got := l.read(nil, l.after(4), 2, 1<<20); got != nil {
		t.Errorf("the events after the end are %v", revisions(got))
	}
}

func TestLogIsBoundedInBytes(t *testing.T) {
	for _, test := range []struct{ state, limit int }{{0, minBytes}, {16 * minBytes, 2 * minBytes}, {100 * maxBytes, maxBytes}} {
		l := log{state: test.state}
		l.reset(1)
		big := &Object{Object: encoding.Object{JSON: make([]byte, test.limit/4-eventMemory)}}
		for revision := etcdstore.Revision(2); revision < 20; revision++ {
			l.append(newEvent(revision, big, nil))
		}
		if l.bytes > test.limit {
			t.Errorf("beside a state of %d bytes the log holds %d, more than %d", test.state, l.bytes, test.limit)
		}
		if got := l.next - l.first; got != 4 {
			t.Errorf("beside a state of %d bytes the log holds %d events of a quarter of its size", test.state, got)
		}
	}
}

func TestLogPositionsAreNeverUsedAgain(t *testing.T) {
	l := log{}
	l.reset(1)
	if l.first == 0 {
		t.Error("position zero is valid: a cursor without a position would be valid")
	}
	l.append(at(2))
	end := l.next
	l.reset(9)
	if l.first <= end {
		t.Errorf("after a reset the log begins at %d, but %d was its end before", l.first, end)
	}
}

func TestLogStepIsBoundedInBytes(t *testing.T) {
	l := log{}
	l.reset(1)
	for _, revision := range []etcdstore.Revision{2, 3, 4, 4, 5} {
		l.append(&event{revision: revision, current: &Object{Object: encoding.Object{JSON: make([]byte, 10)}}})
	}
	for limit, want := range map[int]int{1: 1, 10: 1, 11: 2, 25: 4, 41: 5} {
		if got := revisions(l.read(nil, l.after(1), 100, limit)); len(got) != want {
			t.Errorf("a step of %d bytes is %v, want %d events", limit, got, want)
		}
	}
}

func TestLogPrepend(t *testing.T) {
	l := log{limit: 8}
	l.reset(1)
	before := l.next
	l.reset(10)
	for revision := etcdstore.Revision(11); revision <= 13; revision++ {
		l.append(at(revision))
	}
	position := l.after(11)
	l.prepend([]*event{at(3), at(5), at(5), at(9)}, 2)
	if got := revisions(l.read(nil, l.after(2), 100, 1<<20)); !slices.Equal(got, []etcdstore.Revision{3, 5, 5, 9, 11, 12, 13}) || l.floor != 2 {
		t.Errorf("the log holds %v after %d", got, l.floor)
	}
	if l.at(position).revision != 12 || l.first <= before {
		t.Errorf("position %d has revision %d, and the log begins at %d, want later than %d", position, l.at(position).revision, l.first, before)
	}

	l.reset(10)
	for revision := etcdstore.Revision(11); revision <= 15; revision++ {
		l.append(at(revision))
	}
	l.prepend([]*event{at(3), at(5), at(5), at(8), at(9)}, 2)
	if got := revisions(l.read(nil, l.after(5), 100, 1<<20)); len(got) != 8-1 || l.floor != 5 {
		t.Errorf("a full log holds %v after %d, want 8 to 15 after 5", got, l.floor)
	}

	l.reset(10)
	l.prepend([]*event{{revision: 4, memory: minBytes}, {revision: 5, memory: minBytes/2 + 1}, {revision: 6, memory: minBytes / 2}}, 3)
	if l.next-l.first != 1 || l.floor != 5 {
		t.Errorf("a log holds %d events beyond its limit of bytes, after %d", l.next-l.first, l.floor)
	}
}

// sized makes an event that takes so many bytes.
func sized(revision etcdstore.Revision, bytes int) *event {
	e := at(revision)
	e.memory = bytes
	return e
}

// TestLogReserve checks that a log takes what it needs beyond its share from the reserve, keeps fewer events when the reserve is used up, and gives back
// what it took.
func TestLogReserve(t *testing.T) {
	const reserve, size = 3 << 20, 1 << 10
	shared := semaphore.NewWeighted(reserve)
	free := func() (n int64) {
		for shared.TryAcquire(size) {
			n += size
		}
		shared.Release(n)
		return n
	}
	filled := func() *log {
		l := &log{reserve: shared}
		l.reset(1)
		for revision := etcdstore.Revision(2); revision < 2+(minBytes/size); revision++ {
			l.append(sized(revision, size))
		}
		return l
	}
	first, second := filled(), filled()
	if first.bytes != minFree+reserve || second.bytes != minFree {
		t.Errorf("the logs hold %d and %d bytes, want %d and %d", first.bytes, second.bytes, minFree+reserve, minFree)
	}
	last := first.next
	first.trim(last)
	if first.bytes != minFree+reserve || free() != 0 {
		t.Errorf("%d bytes, and %d free, after the first trim: want all events, which are new", first.bytes, free())
	}
	first.append(sized(1<<20, size))
	first.trim(first.next)
	if first.bytes != minKept || first.next != last+1 || free() != reserve {
		t.Errorf("%d bytes, and %d free, after the second trim: want %d and %d", first.bytes, free(), minKept, reserve)
	}
	if events := first.read(nil, first.first, 1<<20, 1<<20); len(events) != minKept/size || events[0].revision != first.floor+1 || len(first.ring) > 4*minKept/size {
		t.Errorf("%d events after %d, in a ring of %d", len(events), first.floor, len(first.ring))
	}
	third := filled()
	third.reset(1)
	if free() != reserve {
		t.Errorf("%d bytes are free after a reset, want %d", free(), reserve)
	}
	third.prepend([]*event{sized(2, size), sized(3, minFree), sized(4, reserve/2), sized(5, reserve/2)}, 1)
	third.trim(third.next)
	if third.bytes != minFree+reserve || third.floor != 2 || free() != 0 {
		t.Errorf("%d bytes after %d, and %d free, after a prepend: want %d after 2, and none", third.bytes, third.floor, free(), minFree+reserve)
	}
	third.release(0)
	if free() != reserve {
		t.Errorf("%d bytes are free at the end, want %d", free(), reserve)
	}
}

// TestLogIsTrimmed checks that events of a quiet resource leave the log after a minute, and that a client resumes before them all the same.
func TestLogIsTrimmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reserve := semaphore.NewWeighted(1 << 20)
		w := &world{t: t, store: memory.New()}
		w.cache = New(Config{Store: w.store, Prefix: root, Decode: decodeThing, Logger: slog.New(slog.DiscardHandler), LogReserve: reserve})
		w.start()
		for range 600 {
			w.put("a/x", "l", strings.Repeat("x", 4<<10))
		}
		full := w.cache.Stats().Events
		<-time.After(trimPeriod / 2)
		if got := w.cache.Stats().Events; got != full || full < 500 {
			t.Errorf("%d events after half a minute, %d before it", got, full)
		}
		<-time.After(2 * trimPeriod)
		if got := w.cache.Stats().Events; got > full/4 || got == 0 {
			t.Errorf("%d events after two minutes, %d before", got, full)
		}
		if !reserve.TryAcquire(1 << 20) {
			t.Error("the reserve is not free")
		}
		reserve.Release(1 << 20)
		if got := w.count(w.watch(WatchQuery{After: 2})); got != 599 {
			t.Errorf("a client that resumes gets %d events, want 599", got)
		}
	})
}
