package watchcache

import (
	"slices"
	"testing"

	"revtail/encoding"
	"revtail/etcdstore"
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
		l := log{}
		l.resize(test.state)
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
