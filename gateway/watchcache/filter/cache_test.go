package filter_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"revtail/gateway/watchcache/filter"
)

// TestEqualTextsAreCompiledOnce checks that equal texts are compiled once, also for concurrent callers, and that errors are not cached.
func TestEqualTextsAreCompiledOnce(t *testing.T) {
	c := filter.NewCache()
	results := make([]*filter.Filter, 20)
	var callers sync.WaitGroup
	for i := range results {
		callers.Go(func() { results[i], _ = c.Objects(`object.metadata.name == "a"`) })
	}
	callers.Wait()
	for i, f := range results {
		if f == nil || f != results[0] {
			t.Fatalf("%d: %p, and the first is %p", i, f, results[0])
		}
	}
	if other, err := c.Keys(`key == "/a"`); err != nil || other == results[0] {
		t.Errorf("a filter of keys: %v, %v", other, err)
	}
	for range 2 {
		if _, err := c.Objects("object."); !errors.As(err, new(*filter.SyntaxError)) {
			t.Errorf("%v, want a SyntaxError", err)
		}
	}
	if f, err := c.Objects(""); f != nil || err != nil {
		t.Errorf("of an empty text: %v, %v", f, err)
	}
}

// TestTextsAreBounded checks that a text is compiled again when its last use is long ago.
func TestTextsAreBounded(t *testing.T) {
	c := filter.NewCache()
	first, err := c.ObjectFields("data.a")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if _, err := c.ObjectFields(fmt.Sprint("data.b", i)); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := c.ObjectFields("data.a"); err != nil || again == first {
		t.Errorf("%v: the value of a text is never removed", err)
	}
}
