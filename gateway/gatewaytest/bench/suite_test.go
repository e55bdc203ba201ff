package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestMeasure checks that all contenders run in turn, round after round, those for information once, and that everything is closed.
func TestMeasure(t *testing.T) {
	s := newTestStage(t)
	s.rounds = 3
	var order []string
	closed := 0
	res := s.measure(t.Context(), row{open: func(context.Context, *stage) ([]contender, error) {
		o := new(opening)
		for _, name := range []string{"a", "b", "c"} {
			o.own(func() { closed++ })
			o.add(contender{name: name, once: name == "c", run: func(context.Context) (sample, error) {
				order = append(order, name)
				return sample{"n": float64(len(order))}, nil
			}})
		}
		return o.end(nil)
	}})
	if got := strings.Join(order, ""); got != "abcabab" || res.err != nil || closed != 3 {
		t.Errorf("order %s, error %v, %d closed", got, res.err, closed)
	}
	if got := res.median("b", "n"); got != 5 {
		t.Errorf("median of b's 2, 5 and 7: %v", got)
	}
}

// TestMeasureOften checks that a row of short rounds has more of them.
func TestMeasureOften(t *testing.T) {
	s := newTestStage(t)
	s.rounds = 2
	res := s.measure(t.Context(), row{open: func(context.Context, *stage) ([]contender, error) {
		o := new(opening)
		o.add(contender{name: "a", run: func(context.Context) (sample, error) { return sample{}, nil }})
		return o.end(nil)
	}}.often())
	if n := len(res.samples["a"]); n != 6 || res.err != nil {
		t.Errorf("%d rounds, error %v", n, res.err)
	}
}

// TestMeasureFails checks that the first failure ends a row, and that resources without a contender are closed too.
func TestMeasureFails(t *testing.T) {
	s := newTestStage(t)
	broken := errors.New("broken")
	closed := 0
	res := s.measure(t.Context(), row{open: func(context.Context, *stage) ([]contender, error) {
		o := new(opening)
		o.own(func() { closed++ })
		o.add(contender{name: "a", run: func(context.Context) (sample, error) { return sample{}, nil }})
		o.own(func() { closed++ })
		return o.end(broken)
	}})
	if !errors.Is(res.err, broken) || !res.failed() || closed != 2 {
		t.Errorf("error %v, %d closed", res.err, closed)
	}
	runs := 0
	res = s.measure(t.Context(), row{open: func(context.Context, *stage) ([]contender, error) {
		o := new(opening)
		o.add(contender{name: "a", run: func(context.Context) (sample, error) { runs++; return nil, broken }})
		return o.end(nil)
	}})
	if !errors.Is(res.err, broken) || runs != 1 {
		t.Errorf("error %v after %d runs", res.err, runs)
	}
}

func TestSelected(t *testing.T) {
	all := rows(fullSize())
	names := func(words string) []string {
		var names []string
		for _, r := range selected(all, words) {
			names = append(names, r.name)
		}
		return names
	}
	if got := names(""); len(got) != len(all) {
		t.Errorf("no words select %d of %d rows", len(got), len(all))
	}
	if got := names("idle-plain,create"); !slices.Equal(got, []string{"idle-plain", "create", "create-embedded", "create-journal"}) {
		t.Errorf("%v", got)
	}
	if got := names("nothing"); got != nil {
		t.Errorf("%v", got)
	}
	unique := names("")
	slices.Sort(unique)
	if len(slices.Compact(unique)) != len(all) {
		t.Error("two rows have the same name")
	}
}
