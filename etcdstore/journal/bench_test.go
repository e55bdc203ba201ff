package journal

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"revtail/etcdstore"
)

// deployment returns a document of 4 KB, of which revisions differ in a few places, as after an update of a status.
func deployment(name, revision int) []byte {
	out := fmt.Appendf(nil, `{"kind":"Deployment","metadata":{"name":"web-%d","generation":%d,"managedFields":[`, name, revision/3)
	for i := range 12 {
		out = fmt.Appendf(out, `{"manager":"manager-%d","operation":"Update","time":"2026-11-%02dT02:%02d:05Z","fieldsV1":{"f:spec":{"f:%s":{}}}},`, i, 1+i%27, (revision+i*7)/12%60, strings.Repeat(fmt.Sprint("field", name*i), 14))
	}
	return fmt.Appendf(out, `{}]},"spec":{"text":%q},"status":{"observedGeneration":%d,"replicas":%d}}`, strings.Repeat("spec of a pod;", 90), revision/3, revision%9)
}

// BenchmarkAppend writes small changes of 500 objects of 4 KB, and reports how many bytes each takes on the disk.
func BenchmarkAppend(b *testing.B) {
	const objects = 500
	j, err := Open(b.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	w := j.Writer(root, nil)
	w.current.Oldest, w.current.Through = 1, 1
	at, sizes := etcdstore.Revision(1), 0
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		at++
		value := deployment(n%objects, n)
		sizes += len(value)
		key := fmt.Sprintf("%sdeployments/default/web-%d", root, n%objects)
		kv := &etcdstore.KV{Key: key, Value: value, Created: 1, Modified: at, Version: int64(n)}
		if err := w.Append(etcdstore.Batch{Events: []etcdstore.Event{{Revision: at, Key: key, KV: kv}}, Through: at}); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if err := j.db.Compact(b.Context(), []byte{0}, []byte{0xff}, true); err != nil {
		b.Fatal(err)
	}
	size, err := j.db.EstimateDiskUsage([]byte{0}, []byte{0xff}) // without the log, whose size varies
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(size)/float64(at), "disk-B/op")
	b.ReportMetric(float64(sizes)/float64(at), "value-B/op")
}
