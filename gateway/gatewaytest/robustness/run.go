package robustness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// Run is one running scenario. Only the test's goroutine calls its methods unless they say otherwise.
type Run struct {
	testing.TB
	cluster  *gatewaytest.Cluster // nil: the gateway has an etcd of its own
	gateways []*replica
	etcd     *Etcd
	client   *http.Client
	http2    *http.Client
	secured  *secured // nil: no gateway has HTTPS
	frames   frames
	items    items
	opened   atomic.Int64 // number of open streams

	mu         sync.Mutex // guards the fields below, and the steps of watchers
	present    *History
	past       []*History
	timelineOf map[*Watching]*History
	watchers   []*watcher

	recording  load // of the truth
	watching   load
	writing    load
	loads      int
	notes      []string
	violations []Violation // found by this scenario only
	afterwards func()      // checks the recorded events when the clients are done; nil: none
}

// replica is a gateway with its own proxies to etcd.
type replica struct {
	*gatewaytest.Gateway
	proxies []*Proxy // one for each member; none: it connects to etcd directly
	journal string   // the folder of its journal; empty: it has none
	life    atomic.Int32
}

// load is a group of goroutines that run until they are stopped.
type load struct {
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func (l *load) start(ctx context.Context) { l.ctx, l.cancel = context.WithCancel(ctx) }

func (l *load) stop() {
	if l.cancel != nil {
		l.cancel()
		l.running.Wait()
	}
}

// begin starts the processes that a scenario needs, and the recording of the truth.
func begin(t *testing.T, s *Scenario) *Run {
	t.Helper()
	r := &Run{TB: t, timelineOf: make(map[*Watching]*History)}
	r.connect(s)
	var endpoints []string
	if s.Etcd > 0 {
		r.cluster = gatewaytest.StartEtcd(t, s.Etcd, s.EtcdArgs...)
		endpoints = strings.Split(r.cluster.Endpoints(), ",")
	}
	for range max(1, s.Gateways) {
		r.gateways = append(r.gateways, r.startGateway(s, endpoints))
	}
	if r.cluster == nil {
		endpoints = []string{r.gateways[0].EtcdEndpoint}
	}
	var err error
	if r.etcd, err = dialEtcd(endpoints); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.etcd.Close() })
	r.present = &History{Truth: NewTruth(1, nil)}
	r.record()
	return r
}

func (r *Run) startGateway(s *Scenario, endpoints []string) *replica {
	replica := &replica{}
	args := append([]string{"--log-level", "info"}, s.GatewayArgs...)
	if s.Proxied {
		own := make([]string, 0, len(endpoints))
		for _, endpoint := range endpoints {
			p, err := StartProxy(r.Context(), strings.TrimPrefix(endpoint, "http://"))
			if err != nil {
				r.Fatal(err)
			}
			r.Cleanup(func() { _ = p.Close() })
			replica.proxies = append(replica.proxies, p)
			own = append(own, "http://"+p.Address)
		}
		endpoints = own
	}
	if len(endpoints) > 0 {
		args = append(args, "--etcd-endpoints", strings.Join(endpoints, ","))
	}
	secure := len(r.gateways) >= max(1, s.Gateways)-s.Secure
	if secure {
		args = append(args, "--tls-cert-file", r.secured.cert, "--tls-private-key-file", r.secured.key)
	}
	if s.JournalDir != nil {
		replica.journal = s.JournalDir(r.TB)
		args = append(args, "--history-dir", filepath.Join(replica.journal, "journal"))
	}
	replica.Gateway = gatewaytest.Start(r.TB, args...)
	if secure {
		replica.TLS = r.secured.clients
	}
	return replica
}

// record follows all members of etcd.
func (r *Run) record() {
	truth := r.history().Truth
	r.recording.start(r.Context())
	for member := range r.etcd.conns {
		r.recording.running.Go(func() { r.etcd.record(r.recording.ctx, member, truth) })
	}
}

// history returns the current history. Any goroutine may call it.
func (r *Run) history() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.present
}

// edit changes the record. Any goroutine may call it.
func (r *Run) edit(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// Watch starts clients. They watch until the end of the scenario.
func (r *Run) Watch(clients ...Client) {
	if r.watching.ctx == nil {
		r.watching.start(r.Context())
	}
	for _, c := range clients {
		w := &watcher{Client: c, run: r}
		w.Gateway %= len(r.gateways)
		r.watchers = append(r.watchers, w)
		r.watching.running.Go(func() { w.start(r.watching.ctx) })
	}
	gatewaytest.Until(r.TB, "all clients watch", func() bool { return r.opened.Load() >= int64(len(r.watchers)*9/10) })
}

// Crowd returns n clients of the standard kinds: half watch everything, a third a namespace, the others an object; some by a label, half
// with bookmarks, and some end their watches often. A quarter reads event streams, or keys.
func Crowd(n int) []Client {
	clients := make([]Client, 0, n)
	for i := range n {
		c := Client{Name: fmt.Sprint("watcher-", i), Gateway: i, Bookmarks: i%2 == 0}
		switch i % 10 {
		case 5, 6, 7:
			c.Scope.Namespace = namespaces[i/10%len(namespaces)]
		case 8, 9:
			c.Scope = Scope{Namespace: namespaces[i/10%len(namespaces)], Name: fmt.Sprintf("churn-0-%d", i/10%objectsEach)}
		}
		if i%5 == 3 {
			c.Scope.Label = "color=red"
		}
		if i%7 == 6 {
			c.Timeout = time.Duration(4+i%5) * time.Second // a revision that is not reached is 410 after three seconds
		}
		switch {
		case i%8 == 1:
			c.Dialect = EventStream
		case i%8 == 5 && c.Scope.Label == "":
			c.Dialect = Keys
		}
		clients = append(clients, c)
	}
	return clients
}

// Write starts the standard writers, each with a maximum rate: two with objects of their own, two that contend, one that writes to etcd
// directly, and readers that list.
func (r *Run) Write(each int) {
	r.writing.start(r.Context())
	r.loads++
	pace := time.Second / time.Duration(each)
	start := func(name string, gateway int, pace time.Duration, one func(*writer) func(context.Context)) {
		w := &writer{run: r, name: name, gateway: gateway % len(r.gateways), known: make(map[string]int64),
			random: rand.New(rand.NewPCG(uint64(gateway), 7))} //nolint:gosec // a load that can be repeated
		w.name += fmt.Sprint("-", gateway%2)
		w.count = r.loads << 20 // so that the values of different loads differ
		r.writing.running.Go(func() { w.write(r.writing.ctx, pace, one(w)) })
	}
	churn := func(w *writer) func(context.Context) { return w.churn }
	contend := func(w *writer) func(context.Context) { return w.contend }
	start("churn", 0, pace, churn)
	start("churn", 1, pace, churn)
	start("contend", 2, pace, contend)
	start("contend", 3, pace, contend)
	start("foreign", 4, 4*pace, func(w *writer) func(context.Context) { return w.transact })
	for i := range r.gateways {
		r.writing.running.Go(func() { r.readLists(r.writing.ctx, i) })
	}
}

// Gateways returns the gateways.
func (r *Run) Gateways() []*gatewaytest.Gateway {
	gateways := make([]*gatewaytest.Gateway, len(r.gateways))
	for i, replica := range r.gateways {
		gateways[i] = replica.Gateway
	}
	return gateways
}

// Members returns the members of etcd.
func (r *Run) Members() []*gatewaytest.Member { return r.cluster.Members }

// Fault records a fault of the processes.
func (r *Run) Fault(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	r.Log(time.Now().Format("15:04:05.000"), what)
	r.history().addFault(what)
}

// Note adds a figure beside the table.
func (r *Run) Note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// Wait waits, while clients and writers continue.
func (r *Run) Wait(d time.Duration) { pause(r.Context(), d) }

// Compact compacts etcd, up to a revision that the truth has. It returns the revision.
func (r *Run) Compact(revision int64) {
	h := r.history()
	gatewaytest.Until(r.TB, "the truth is known", func() bool { return h.Truth.Through() >= revision })
	h.mu.Lock()
	h.Compactions = append(h.Compactions, Compaction{time.Now(), revision})
	h.mu.Unlock()
	if err := r.etcd.compact(r.Context(), revision); err != nil {
		r.Logf("compact to %d: %v", revision, err)
	}
}

// Leader returns the leading member.
func (r *Run) Leader() *gatewaytest.Member {
	var leader int
	gatewaytest.Until(r.TB, "a leader", func() (ok bool) {
		var err error
		leader, err = r.etcd.leader(r.Context())
		return err == nil
	})
	return r.cluster.Members[leader]
}

// Violate records a violation that only this scenario checks.
func (r *Run) Violate(promise, who, format string, args ...any) {
	r.violations = append(r.violations, Violation{promise, who, fmt.Sprintf(format, args...)})
}

// openOn returns the number of open watches of a gateway, from its metrics.
func (r *Run) openOn(gateway int) int {
	return int(r.metric(r.gateways[gateway].URL, `revtail_watchers{resource="configmaps"}`))
}

// served returns the number of resources of a gateway.
func (r *Run) served(gateway int) int {
	return strings.Count(r.Ask(gateway, http.MethodGet, "/metrics", "").Text, "\nrevtail_cache_ready{")
}

// fill creates keys, a hundred in a transaction, with a lease if ttl is set.
func (r *Run) fill(name string, n int, ttl time.Duration) {
	w := &writer{run: r, name: name, random: rand.New(rand.NewPCG(1, 1))} //nolint:gosec // a load that can be repeated
	var lease int64
	if ttl > 0 {
		lease, _ = r.etcd.grant(r.Context(), ttl) // without a lease the keys stay
	}
	for first := 0; first < n; first += 100 {
		values, record := make(map[string]string), &Write{Writer: name, Verb: "transaction", Value: w.unique(), Sent: time.Now()}
		for i := first; i < first+100; i++ {
			object := fmt.Sprint(name, i)
			values[prefix+"c/"+object] = manifest("c", object, w.color(), record.Value, 0)
			record.Keys = append(record.Keys, prefix+"c/"+object)
		}
		revision, err := r.etcd.put(r.Context(), lease, values)
		w.note(record, revision, err)
	}
}

// paced checks that the watches of a gateway that stopped did not all end at the same moment, and each with a bookmark if it had asked for
// them.
func (r *Run) paced(clients int) {
	h := r.history()
	bookmarks := make(map[string]bool)
	for _, w := range r.watchers {
		bookmarks[w.Name] = w.Bookmarks && w.Timeout == 0
	}
	for _, fault := range h.Faults {
		var first, last time.Time
		n := 0
		r.edit(func() {
			for _, w := range h.Watchers {
				for _, step := range w.Steps {
					s := step.Stream
					if s == nil || s.End != Clean || s.Ended.Before(fault.At) || s.Ended.After(fault.At.Add(20*time.Second)) || s.Opened.After(fault.At) {
						continue
					}
					if bookmarks[w.Name] && (len(s.Lines) == 0 || s.Lines[len(s.Lines)-1].Type != bookmark) {
						r.Violate("graceful-stop", w.Name, "its watch ended without a last bookmark")
					}
					n++
					if first.IsZero() || s.Ended.Before(first) {
						first = s.Ended
					}
					if s.Ended.After(last) {
						last = s.Ended
					}
				}
			}
		})
		r.Note("%s: %d watches ended within %v", fault.What, n, last.Sub(first).Round(time.Millisecond))
		const most = 400 // a second: twice the rate of the gateway
		if n > clients/4 && last.Sub(first) < time.Duration(n)*time.Second/most {
			r.Violate("graceful-stop", fault.What, "%d watches ended within %v", n, last.Sub(first))
		}
	}
}
