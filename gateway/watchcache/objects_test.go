package watchcache

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"revtail/encoding"
)

// document returns an object with a document of about the size.
func document(path string, revision, size int) *Object {
	o := newObject(path, 1)
	id := encoding.Identity{APIVersion: "v1", Kind: "Thing", Namespace: o.Namespace(), Name: o.Name()}
	value := fmt.Appendf(nil, `{"kind":"Thing","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"labels":{"l":"%d"}},"spec":{"value":%q}}`,
		o.Name(), o.Namespace(), revision, strings.Repeat("x", size))
	var err error
	if o.Object, err = encoding.Normalize(value, id, int64(revision)); err != nil {
		panic(err)
	}
	return o
}

// model is the expected content of objects.
type model map[string]string // documents by path

func (m model) paths(namespace, after string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(path string) bool {
		return path <= after || !strings.HasPrefix(path, pathPrefix(namespace))
	})
}

func (m model) text(paths []string) string {
	var text strings.Builder
	for _, path := range paths {
		text.WriteString(m[path] + ",")
	}
	return text.String()
}

// check compares everything that can be read with the model.
func (m model) check(t *testing.T, s *objects) {
	t.Helper()
	if s.count != len(m) || s.size != len(m.text(m.paths("", ""))) {
		t.Errorf("%d objects of %d bytes, want %d of %d", s.count, s.size, len(m), len(m.text(m.paths("", ""))))
	}
	s = s.copy() // lists read copies
	for _, namespace := range []string{"", "b", "none"} {
		for _, after := range []string{"", "b/0100", "b/0100x", "zz"} {
			for _, limit := range []int{0, 1, 70} {
				m.checkRangeView(t, rangeView{s, namespace, after, limit})
			}
		}
	}
	m.checkKept(t, s)
	for _, path := range []string{"a/0001", "b/0100", "c/0299", "c/none"} {
		o := s.get(path)
		if want, ok := m[path]; (o != nil) != ok || ok && string(o.JSON) != want {
			t.Errorf("the object at %s is %v, want %.60s", path, o, want)
		}
	}
}

// checkKept checks that the objects that a visitor keeps stay as they are, while others get the memory of those between.
func (m model) checkKept(t *testing.T, s *objects) {
	t.Helper()
	paths, visited := m.paths("", ""), 0
	var kept []*Object
	s.ascend(scope{}, "", func(o *Object) (keep, more bool) {
		if keep = visited%3 == 0; keep {
			kept = append(kept, o)
		}
		visited++
		return keep, true
	})
	for i, o := range kept {
		if path := paths[3*i]; o.path != path || string(o.JSON) != m[path] {
			t.Fatalf("the visitor kept %s, and has %s", path, o.path)
		}
	}
	if visited != len(paths) {
		t.Fatalf("%d objects were visited of %d", visited, len(paths))
	}
}

func (m model) checkRangeView(t *testing.T, e rangeView) {
	t.Helper()
	want, more := m.paths(e.namespace, e.after), 0
	if e.limit > 0 && len(want) > e.limit {
		want, more = want[:e.limit], len(want)-e.limit
	}
	var got []string
	for o := range e.objects {
		got = append(got, o.path)
		if ns, name, _ := strings.Cut(o.path, "/"); o.Namespace() != ns || o.Name() != name || !o.Labels().Has("l") {
			t.Fatalf("%s has the name %q and the namespace %q, with the labels %s", o.path, o.Name(), o.Namespace(), o.Labels())
		}
	}
	if diff := cmp.Diff(want, got, cmp.Transformer("len", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
		t.Fatalf("the range %q after %q, at most %d (- want, + got):\n%s", e.namespace, e.after, e.limit, diff)
	}
	var text bytes.Buffer
	for piece := range e.text {
		text.Write(piece)
	}
	if text.String() != m.text(want) {
		t.Fatalf("the text of %q after %q, at most %d, is %d bytes, not those of its objects: %d", e.namespace, e.after, e.limit, text.Len(), len(m.text(want)))
	}
	size, rest, last := e.measure()
	if size != text.Len() || int(rest) != more || (last != "") != (more > 0) || more > 0 && last != want[len(want)-1] {
		t.Fatalf("%d bytes up to %q, and %d more; want %d up to %v, and %d", size, last, rest, text.Len(), want, more)
	}
}

// checkBlocks checks the costs: blocks are in order and of the right size, and few documents are outside of the text of their block.
func checkBlocks(t rapid.TB, s *objects) (blocks int) {
	t.Helper()
	before := ""
	s.blocks.Scan(func(b *block) bool {
		size, packed, loose := 0, 0, make(map[*Object]bool)
		for i := range b.len() {
			o := b.object(i)
			if o.path < b.low || o.path <= before || o.path != b.path(i) {
				t.Fatalf("the object %d of the block from %q is %q, after %q", i, b.low, o.path, before)
			}
			before = o.path
			size += o.size()
			if entry, l := b.at(i); l != nil {
				loose[l] = true
			} else {
				packed += o.size()
				if at, _ := b.packed.document(entry); &b.packed.text[at] != &o.JSON[0] || b.packed.text[at+len(o.JSON)] != ',' {
					t.Fatalf("%s is not at its offset", o.path)
				}
			}
		}
		if b.size != size || b.present != packed || len(loose) != len(b.loose) || (blocks > 0) != (b.low != "") {
			t.Fatalf("the block %d from %q has %d bytes, %d packed, and %d loose objects; counted are %d, %d and %d", blocks, b.low, b.size, b.present, len(b.loose), size, packed, len(loose))
		}
		if many := b.len() > 1; many && (size > 2*blockSize || b.len() > 2*blockObjects || 4*(size+b.textSize()-2*packed) > max(size, 4*looseSize)) {
			t.Fatalf("a block of %d objects and %d bytes has %d packed in %d", b.len(), size, packed, b.textSize())
		}
		blocks++
		return true
	})
	return blocks
}

func TestObjects(t *testing.T) {
	for _, filled := range []bool{false, true} {
		random := rand.New(rand.NewPCG(1, 2))
		s, m := newObjects(), model{}
		if filled {
			var ordered []*Object
			for _, namespace := range []string{"a", "b", "c"} {
				for i := range 300 {
					o := document(fmt.Sprintf("%s/%04d", namespace, i), 1, random.IntN(2000))
					ordered = append(ordered, o)
					m[o.path] = string(o.JSON)
				}
			}
			s.fill(ordered[:450])
			s.fill(ordered[450:])
			m.check(t, s)
			if n := checkBlocks(t, s); n < 10 {
				t.Fatalf("%d blocks are too few for the test", n)
			}
		}
		var olds []*objects
		var oldModels []model
		for step := range 4000 {
			path := fmt.Sprintf("%c/%04d", "abc"[random.IntN(3)], random.IntN(300))
			growing := step/1000%2 == 0
			if random.IntN(10) < 7 == growing {
				size := random.IntN(2000)
				if random.IntN(100) == 0 {
					size = 100_000
				}
				o := document(path, step, size)
				s.set(o)
				m[path] = string(o.JSON)
			} else {
				s.remove(path)
				delete(m, path)
			}
			if step%900 == 0 {
				olds, oldModels = append(olds, s.copy()), append(oldModels, maps.Clone(m))
			}
			if step%500 == 0 {
				m.check(t, s)
				checkBlocks(t, s)
			}
		}
		for i := range olds {
			oldModels[i].check(t, olds[i])
		}
		for path := range m {
			s.remove(path)
		}
		model{}.check(t, s)
	}
}

// TestEventsKeepNoNeighbours checks that an event, which is kept long, shares no memory with other objects.
func TestEventsKeepNoNeighbours(t *testing.T) {
	s := newObjects()
	var ordered []*Object
	for i := range 100 {
		ordered = append(ordered, document(fmt.Sprintf("a/%04d", i), 1, 1000))
	}
	s.fill(ordered)
	previous := s.get("a/0050")
	if !previous.shared {
		t.Fatal("the object has its own memory already")
	}
	e := newEvent(2, document("a/0050", 2, 1000), previous)
	if e.previous.shared || &e.previous.JSON[0] == &previous.JSON[0] || string(e.previous.JSON) != string(previous.JSON) {
		t.Error("the event holds the block of the object that it replaced")
	}
	if e.previous.Name() != "0050" || e.previous.Namespace() != "a" || e.previous.Labels().Get("l") != "1" {
		t.Errorf("the copy has the name %s and the namespace %s", e.previous.Name(), e.previous.Namespace())
	}
	if next := newEvent(3, nil, e.current); next.previous != e.current || next.memory != eventMemory {
		t.Error("an object with its own memory is copied, or counted twice")
	}
}

// TestListTakesNoMemoryPerObject checks that the allocations of a list do not depend on the number of its objects.
func TestListTakesNoMemoryPerObject(t *testing.T) {
	allocations := func(n int, loose bool) float64 {
		s := newObjects()
		var ordered []*Object
		for i := range n {
			ordered = append(ordered, document(fmt.Sprintf("a/%06d", i), 1, 1000))
		}
		s.fill(ordered)
		for i := 0; loose && i < n; i += 10 {
			s.set(document(ordered[i].path, 2, 1000))
		}
		return testing.AllocsPerRun(10, func() {
			e := rangeView{state: s, namespace: "a", after: "a/000001", limit: n - 10}
			total, size := 0, 0
			size, _, _ = e.measure()
			for piece := range e.text {
				total += len(piece)
			}
			if total != size || total < n*1000 {
				t.Fatalf("%d bytes, want %d", total, size)
			}
		})
	}
	for _, loose := range []bool{false, true} {
		if few, many := allocations(200, loose), allocations(5000, loose); many > few {
			t.Errorf("in pieces: %t: a list of 200 objects allocates %v times, one of 5,000 %v times", loose, few, many)
		}
	}
}

// TestBlocksOfEqualSizeAreToldApart replaces an object by one of the same size, and empties the first block.
func TestBlocksOfEqualSizeAreToldApart(t *testing.T) {
	s, m := newObjects(), model{}
	var ordered []*Object
	for i := range 300 {
		o := document(fmt.Sprintf("a/%04d", i), 1, 1000)
		ordered, m[o.path] = append(ordered, o), string(o.JSON)
	}
	s.fill(ordered)
	o := document("a/0007", 2, 1000)
	s.set(o)
	m[o.path] = string(o.JSON)
	m.check(t, s)
	for i := range 150 {
		path := fmt.Sprintf("a/%04d", i)
		s.remove(path)
		delete(m, path)
	}
	m.check(t, s)
}
