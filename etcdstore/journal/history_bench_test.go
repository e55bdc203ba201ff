package journal

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
)

// events is the number of events of BenchmarkHistory.
var events = flag.Int("events", 0, "number of events of BenchmarkHistory; 0: it is skipped")

// historyObjects is the number of objects of BenchmarkHistory. They have 1.1 KB each.
const historyObjects = 50_000

// BenchmarkHistory writes events of many small objects, opens the journal again, and reports what reads of it take.
func BenchmarkHistory(b *testing.B) {
	if *events == 0 {
		b.Skip("want -events, as make bench-history gives it")
	}
	dir := b.TempDir()
	through := writeHistory(b, dir, *events)
	for b.Loop() {
		began := time.Now()
		j, err := Open(dir, slog.New(slog.DiscardHandler))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "open-ms")
		b.ReportMetric(float64(j.Size())/float64(*events), "disk-B/event")
		random := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // repeatable
		b.ReportMetric(median(b, 11, func() error {
			at := 2*historyObjects + etcdstore.Revision(random.Int64N(int64(through)-2*historyObjects))
			page, err := j.List(b.Context(), 0, root, etcdstore.ListOptions{At: at})
			if err == nil && len(page.KVs) != historyObjects {
				err = fmt.Errorf("%d objects at revision %d", len(page.KVs), at)
			}
			return err
		}), "list-ms")
		var after etcdstore.Revision // of the last page
		var last string
		b.ReportMetric(median(b, 11, func() error {
			at := historyObjects + etcdstore.Revision(random.Int64N(int64(through)-historyObjects))
			page, err := j.List(b.Context(), 0, root, etcdstore.ListOptions{At: at, Limit: 500})
			if err == nil {
				after, last = at, page.KVs[len(page.KVs)-1].Key
			}
			return err
		}), "page-ms")
		b.ReportMetric(median(b, 11, func() error {
			page, err := j.List(b.Context(), 0, root, etcdstore.ListOptions{At: after, After: last, Limit: 500})
			if err == nil {
				last = page.KVs[len(page.KVs)-1].Key
			}
			return err
		}), "next-page-ms")
		b.ReportMetric(median(b, 5, func() error {
			o := EventOptions{After: 1, Exact: true, Bytes: 1 << 30}
			step, err := j.Events(b.Context(), 0, historyKey(random.IntN(historyObjects)), o)
			if want := *events / historyObjects; err == nil && len(step.Events) != want {
				err = fmt.Errorf("%d events of an object, want %d", len(step.Events), want)
			}
			return err
		}), "object-ms")
		b.ReportMetric(median(b, 3, func() error {
			known, _ := j.View(0, root).Range()
			n := 0
			for _, err := range j.index(known.Number, 1, through) {
				if err != nil {
					return err
				}
				n++
			}
			if n != *events {
				return fmt.Errorf("%d events are counted", n)
			}
			return nil
		}), "count-ms")
		if err := j.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func historyKey(object int) string {
	return fmt.Sprintf("%spods/namespace-%d/pod-%06d", root, object%100, object)
}

// writeHistory writes events, the objects in turns, and returns the newest revision.
func writeHistory(b *testing.B, dir string, events int) etcdstore.Revision {
	b.Helper()
	j, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	w := j.Writer(root, WriterOptions{})
	w.current.Oldest, w.current.Through = 1, 1
	const step = 100
	at := etcdstore.Revision(1)
	for n := 0; n < events; {
		batch := etcdstore.Batch{Received: time.Now()}
		for range min(step, events-n) {
			at++
			object, version := n%historyObjects, n/historyObjects
			kv := &etcdstore.KV{Key: historyKey(object), Value: historyValue(object, version), Created: etcdstore.Revision(object + 2), Modified: at, Version: int64(version + 1)}
			batch.Events = append(batch.Events, etcdstore.Event{Revision: at, Key: kv.Key, KV: kv})
			n++
		}
		batch.Through = at
		if err := w.Append(batch); err != nil {
			b.Fatal(err)
		}
	}
	last := j.db.NewBatch()
	if err := errors.Join(j.commit(last, w.current, pebble.Sync), last.Close(), j.Close()); err != nil {
		b.Fatal(err)
	}
	return at
}

// historyValue returns a document of 1.1 KB, of which versions differ in a few places.
func historyValue(object, version int) []byte {
	random := rand.New(rand.NewPCG(uint64(object), 7)) //nolint:gosec // repeatable
	out := fmt.Appendf(nil, `{"kind":"Pod","metadata":{"name":"pod-%06d","uid":"%016x%016x","labels":{"app":"app-%d"}},"spec":{"nodeName":"node-%d","env":"`,
		object, random.Uint64(), random.Uint64(), object%300, object%5000)
	for len(out) < 900 {
		out = fmt.Appendf(out, "variable-%d=%x,", len(out), random.Uint32())
	}
	return fmt.Appendf(out, `"},"status":{"phase":"Running","startTime":"2026-11-28T05:%02d:%02dZ","conditions":[{"type":"Ready","status":"%t","lastTransitionTime":"2026-11-28T%02d:%02d:00Z"}],"restartCount":%d}}`,
		object%60, object%59, version%2 == 0, version/60%24, version%60, version/5)
}

// median runs a function some times, and returns the median of its times in milliseconds.
func median(b *testing.B, times int, run func() error) float64 {
	b.Helper()
	var taken []time.Duration
	for range times {
		began := time.Now()
		if err := run(); err != nil {
			b.Fatal(err)
		}
		taken = append(taken, time.Since(began))
	}
	slices.Sort(taken)
	return float64(taken[len(taken)/2].Microseconds()) / 1000
}
