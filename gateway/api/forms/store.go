package forms

import (
	"sync"
	"sync/atomic"
	"time"

	"revtail/gateway/watchcache"
)

const (
	// period is how long a form stays that is not used, at least. It stays for less than two periods.
	period = 15 * time.Second
	// shortPeriod is the period while there is no room.
	shortPeriod = 3 * time.Second
	// overhead is about how many bytes a form takes beside its text: in the map, and as the header of a slice.
	overhead = 128
)

// Store keeps the forms of a gateway. It is safe for concurrent use; the zero value keeps nothing.
type Store struct {
	// Most bounds the memory of all forms, in bytes. What is beyond it is made for each client.
	Most int64

	bytes  atomic.Int64
	mu     sync.Mutex // guards the fields below, for O(1) or a step for each table
	tables map[any]*Table
	timer  bool      // one runs
	aged   time.Time // when forms aged last
}

// Of returns the table of a form. Equal values of by, of a comparable type, have the same table. A request asks for it once, and does not keep it: a
// table that is not used leaves the store, and keeps nothing afterwards.
func (s *Store) Of(by any) *Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[by]
	if t == nil {
		if s.tables == nil {
			s.tables = make(map[any]*Table)
		}
		t = &Table{store: s}
		s.tables[by] = t
	}
	if !s.timer {
		s.timer = true
		time.AfterFunc(period, s.age)
	}
	return t
}

// age drops the forms that were not used for a period, and comes again as long as there are others.
func (s *Store) age() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ageLocked()
	if s.timer = len(s.tables) > 0; s.timer {
		time.AfterFunc(period, s.age)
	}
}

func (s *Store) ageLocked() {
	s.aged = time.Now()
	for by, t := range s.tables {
		if t.age() {
			delete(s.tables, by)
		}
	}
}

// makeRoom drops the forms that were not used for a short period.
func (s *Store) makeRoom() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.aged) >= shortPeriod {
		s.ageLocked()
	}
}

// Form is an object in another form.
type Form struct {
	Text  []byte    // is not modified
	Until time.Time // when the form is no longer right; zero: it stays right
}

func (f Form) size() int64 { return int64(len(f.Text)) + overhead }

// Table has the objects in one form.
type Table struct {
	store *Store

	mu          sync.Mutex // guards the fields below, for O(1)
	recent, old generation // old: not used in this period
	dropped     bool       // the store has another table by now
}

// generation are the forms that were used last in the same period.
type generation struct {
	forms map[documentID]Form
	bytes int64
}

// documentID is the address of a document, which belongs to one object at one revision. A watch cache may show that as several *watchcache.Object.
type documentID *byte

func idOf(o *watchcache.Object) documentID { return &o.JSON[0] }

// Get returns the text of an object, which is not modified. If the table has none that is right, create makes it; its error is returned, and
// nothing kept. Concurrent callers may make the same form.
func (t *Table) Get(o *watchcache.Object, create func() (Form, error)) ([]byte, error) {
	id := idOf(o)
	if f, ok := t.find(id); ok && (f.Until.IsZero() || time.Now().Before(f.Until)) {
		return f.Text, nil
	}
	f, err := create()
	if err != nil {
		return nil, err
	}
	if !t.keep(id, f) {
		t.store.makeRoom()
	}
	return f.Text, nil
}

// find returns a form, which has been used in this period then.
func (t *Table) find(id documentID) (Form, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, ok := t.recent.forms[id]
	if ok {
		return f, true
	}
	if f, ok = t.old.forms[id]; ok {
		t.old.remove(id)
		t.recent.add(id, f)
	}
	return f, ok
}

// keep adds a form, or replaces one, if there is room. It returns false if there is none.
func (t *Table) keep(id documentID, f Form) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	removed := t.recent.remove(id)
	if t.store.bytes.Add(f.size()-removed) > t.store.Most || t.dropped {
		t.store.bytes.Add(-f.size())
		return t.dropped
	}
	t.recent.add(id, f)
	return true
}

// age drops the forms that were not used in this period. It returns whether none are left: the table keeps none then.
func (t *Table) age() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.store.bytes.Add(-t.old.bytes)
	t.old, t.recent = t.recent, generation{}
	t.dropped = len(t.old.forms) == 0
	return t.dropped
}

func (g *generation) add(id documentID, f Form) {
	if g.forms == nil {
		g.forms = make(map[documentID]Form)
	}
	g.forms[id] = f
	g.bytes += f.size()
}

// remove returns how many bytes it has removed.
func (g *generation) remove(id documentID) int64 {
	f, ok := g.forms[id]
	if !ok {
		return 0
	}
	delete(g.forms, id)
	g.bytes -= f.size()
	return f.size()
}
