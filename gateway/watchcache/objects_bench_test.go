package watchcache

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// manyObjects returns 50,000 objects of 1 KiB.
func manyObjects() (*objects, []*Object) {
	s, ordered := newObjects(), make([]*Object, 50_000)
	for i := range ordered {
		ordered[i] = document(fmt.Sprintf("default/object-%06d", i), 1, 900)
	}
	s.fill(ordered)
	return s, ordered
}

// BenchmarkSet sets an object of a state that a snapshot shares, as every change does.
func BenchmarkSet(b *testing.B) {
	s, ordered := manyObjects()
	random := rand.New(rand.NewPCG(5, 6))
	b.ReportAllocs()
	for b.Loop() {
		s.set(ordered[random.IntN(len(ordered))])
		_ = s.copy()
	}
}

func BenchmarkGet(b *testing.B) {
	s, ordered := manyObjects()
	random := rand.New(rand.NewPCG(5, 6))
	b.ReportAllocs()
	for b.Loop() {
		if s.get(ordered[random.IntN(len(ordered))].path) == nil {
			b.Fatal("not found")
		}
	}
}

// BenchmarkText reads the text of a list, of objects as they were stored, and after each of them has changed.
func BenchmarkText(b *testing.B) {
	for _, changed := range []bool{false, true} {
		b.Run(fmt.Sprintf("changed=%t", changed), func(b *testing.B) {
			s, ordered := manyObjects()
			random := rand.New(rand.NewPCG(5, 6))
			for i := 0; changed && i < len(ordered); i++ {
				s.set(ordered[random.IntN(len(ordered))])
			}
			pieces := 0
			b.ReportAllocs()
			for b.Loop() {
				e, total := rangeView{state: s, namespace: "default"}, 0
				size, _, _ := e.measure()
				pieces = 0
				for piece := range e.text {
					total, pieces = total+len(piece), pieces+1
				}
				if total != size {
					b.Fatal(total, size)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(ordered)), "ns/object")
			b.ReportMetric(float64(pieces), "pieces")
		})
	}
}

// BenchmarkPage reads one page of 500 objects in the middle of a list.
func BenchmarkPage(b *testing.B) {
	s, _ := manyObjects()
	b.ReportAllocs()
	for b.Loop() {
		e, total := rangeView{state: s, namespace: "default", after: "default/object-020000", limit: 500}, 0
		_, more, _ := e.measure()
		for piece := range e.text {
			total += len(piece)
		}
		if more != 29_499 || total < 500*900 {
			b.Fatal(more, total)
		}
	}
}
