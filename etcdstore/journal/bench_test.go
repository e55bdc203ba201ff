package journal

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
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

// lease returns a Lease of 0.6 KB, as a kubelet renews it.
func lease(name, revision int) []byte {
	at := fmt.Sprintf("2026-11-28T%02d:%02d:%02d.%06dZ", revision/3600%24, revision/60%60, revision%60, revision*7919%1_000_000)
	return fmt.Appendf(nil, `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"node-%d","namespace":"kube-node-lease","uid":"%08x-62b5-4e1f-8be2-0b7ecb1a3c33",`+
		`"creationTimestamp":"2026-11-01T02:13:05Z","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"node-%[1]d","uid":"%08[2]x-1111-4e1f-8be2-0b7ecb1a3c33"}],`+
		`"managedFields":[{"manager":"kubelet","operation":"Update","apiVersion":"coordination.k8s.io/v1","time":%[3]q,"fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:renewTime":{}}}}]},`+
		`"spec":{"holderIdentity":"node-%[1]d","leaseDurationSeconds":40,"renewTime":%[3]q}}`, name, name*2654435761%(1<<32), at)
}

// occurrence returns an Event of 0.9 KB, as a controller writes it.
func occurrence(name, _ int) []byte {
	random := rand.New(rand.NewPCG(uint64(name), 3)) //nolint:gosec // repeatable
	return fmt.Appendf(nil, `{"kind":"Event","apiVersion":"v1","metadata":{"name":"web-%[1]d.%[2]x","namespace":"default","uid":"%08[3]x-62b5-4e1f-8be2-%012[2]x",`+
		`"creationTimestamp":"2026-11-28T02:13:05Z","managedFields":[{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-11-28T02:13:05Z","fieldsType":"FieldsV1",`+
		`"fieldsV1":{"f:count":{},"f:firstTimestamp":{},"f:involvedObject":{},"f:lastTimestamp":{},"f:message":{},"f:reason":{},"f:source":{"f:component":{},"f:host":{}},"f:type":{}}}]},`+
		`"involvedObject":{"kind":"Pod","namespace":"default","name":"web-%[1]d","uid":"%08[4]x-62b5-4e1f-8be2-0b7ecb1a3c33","apiVersion":"v1","resourceVersion":"%[1]d","fieldPath":"spec.containers{web}"},`+
		`"reason":"Pulled","message":"Container image \"registry.example.com/web:%[5]d\" already present on machine","source":{"component":"kubelet","host":"node-%[5]d"},`+
		`"firstTimestamp":"2026-11-28T02:13:05Z","lastTimestamp":"2026-11-28T02:13:05Z","count":1,"type":"Normal","eventTime":null}`,
		name, random.Uint64()>>16, random.Uint32(), random.Uint32(), name%300)
}

// appends are the kinds of changes of BenchmarkAppend.
var appends = []struct {
	name    string
	objects int // that are changed in turn; zero: each change is a new object
	value   func(name, revision int) []byte
}{
	{"status", 500, deployment},
	{"lease", 500, lease},
	{"event", 0, occurrence},
	{"create", 0, deployment},
}

// BenchmarkAppend writes changes of objects of some kinds, and reports how many bytes each takes on the disk.
func BenchmarkAppend(b *testing.B) {
	for _, kind := range appends {
		b.Run(kind.name, func(b *testing.B) { benchmarkAppend(b, kind.objects, kind.value) })
	}
}

func benchmarkAppend(b *testing.B, objects int, value func(name, revision int) []byte) {
	b.Helper()
	j, err := Open(b.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	w := j.Writer(root, WriterOptions{})
	w.current.Oldest, w.current.Through = 1, 1
	at, sizes := etcdstore.Revision(1), 0
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		at++
		name := n
		if objects > 0 {
			name = n % objects
		}
		changed := value(name, n)
		sizes += len(changed)
		key := fmt.Sprintf("%sobjects/default/web-%d", root, name)
		kv := &etcdstore.KV{Key: key, Value: changed, Created: 1, Modified: at, Version: int64(n)}
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
