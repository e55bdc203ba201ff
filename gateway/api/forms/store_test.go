package forms

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"revtail/encoding"
	"revtail/gateway/watchcache"
)

// most is Store.Most in these tests.
const most = 64 << 20

// counter makes forms, and counts them.
type counter struct {
	made  int
	until time.Time
	size  int
}

func (c *counter) create() (Form, error) {
	c.made++
	return Form{Text: []byte("form" + strings.Repeat(".", c.size)), Until: c.until}, nil
}

// object returns an object with a document of its own.
func object() *watchcache.Object {
	return &watchcache.Object{Object: encoding.Object{JSON: []byte("{}")}}
}

func (c *counter) get(t *testing.T, from *Table, o *watchcache.Object) {
	t.Helper()
	if text, err := from.Get(o, c.create); err != nil || !strings.HasPrefix(string(text), "form") {
		t.Errorf("%q, %v", text, err)
	}
}

// TestFormsStayWhileTheyAreUsed checks that a form is made once as long as it is used in each period, and that the store is empty two periods
// after the last use.
func TestFormsStayWhileTheyAreUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Store{Most: most}
		var used, idle counter
		a, b := object(), object()
		idle.get(t, s.Of("rows"), b)
		for range 10 {
			used.get(t, s.Of("rows"), a)
			time.Sleep(period - time.Second)
		}
		idle.get(t, s.Of("rows"), b)
		if used.made != 1 || idle.made != 2 {
			t.Errorf("a form that was used was made %d times, and one that was not %d times", used.made, idle.made)
		}
		used.get(t, s.Of("messages"), a)
		if used.made != 2 {
			t.Error("two forms of an object are the same")
		}
		time.Sleep(2*period + time.Second)
		synctest.Wait()
		if bytes := s.bytes.Load(); bytes != 0 || len(s.tables) != 0 || s.timer {
			t.Errorf("%d bytes and %d tables stay", bytes, len(s.tables))
		}
	})
}

// TestFormsExpire checks that a form is made again when it is no longer right, and replaces the other one.
func TestFormsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Store{Most: most}
		o, c := object(), counter{until: time.Now().Add(time.Second)}
		table := s.Of("rows")
		c.get(t, table, o)
		c.get(t, table, o)
		time.Sleep(time.Second)
		c.get(t, table, o)
		if want := (Form{Text: []byte("form")}).size(); c.made != 2 || s.bytes.Load() != want {
			t.Errorf("made %d times, %d bytes, want %d", c.made, s.bytes.Load(), want)
		}
	})
}

// TestFormsAreBounded checks that a store keeps no more than it may, and that the requests of a table which was dropped keep nothing.
func TestFormsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Store{Most: most}
		table, large := s.Of("rows"), counter{size: most / 3}
		first := object()
		for range 4 {
			large.get(t, table, first)
			large.get(t, table, object())
		}
		if kept := len(table.recent.forms) + len(table.old.forms); kept != 2 || s.bytes.Load() > most {
			t.Errorf("%d forms of %d bytes are kept", kept, s.bytes.Load())
		}
		for range 3 { // what is used stays, and the others make room
			time.Sleep(shortPeriod)
			large.get(t, table, first)
			large.get(t, table, object())
		}
		if large.made != 8 || s.bytes.Load() > most {
			t.Errorf("%d forms were made, want 8: %d bytes", large.made, s.bytes.Load())
		}
		time.Sleep(2*period + time.Second)
		synctest.Wait()
		large.get(t, table, object())
		if s.bytes.Load() != 0 {
			t.Errorf("%d bytes are kept in a table that was dropped", s.bytes.Load())
		}
		bad := errors.New("bad")
		if _, err := s.Of("rows").Get(object(), func() (Form, error) { return Form{}, bad }); !errors.Is(err, bad) || s.bytes.Load() != 0 {
			t.Errorf("an error: %v, and %d bytes", err, s.bytes.Load())
		}
		time.Sleep(2*period + time.Second)
	})
}

// TestFormsOfManyRequests checks that the sum of the sizes is right when many requests ask for the same objects while they age.
func TestFormsOfManyRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Store{Most: most}
		objects := make([]*watchcache.Object, 100)
		for i := range objects {
			objects[i] = object()
		}
		var running sync.WaitGroup
		for range 8 {
			running.Go(func() {
				for range 20 {
					c := counter{until: time.Now().Add(5 * time.Second)}
					for _, o := range objects {
						c.get(t, s.Of("rows"), o)
					}
					time.Sleep(3 * time.Second)
				}
			})
		}
		running.Wait()
		time.Sleep(2*period + time.Second)
		synctest.Wait()
		if bytes := s.bytes.Load(); bytes != 0 {
			t.Errorf("%d bytes stay", bytes)
		}
	})
}
