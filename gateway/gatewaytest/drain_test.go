package gatewaytest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// acknowledged has the revisions of acknowledged writes.
type acknowledged struct {
	mu        sync.Mutex // guards the field below
	revisions []string
}

func (a *acknowledged) add(revision string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revisions = append(a.revisions, revision)
}

func (a *acknowledged) now() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.revisions[:len(a.revisions):len(a.revisions)]
}

// write patches an object repeatedly, until ctx ends.
func (a *acknowledged) write(ctx context.Context, t *testing.T, gw *gatewaytest.Gateway, path string) {
	t.Helper()
	for i := 0; ctx.Err() == nil; i++ {
		answer, err := gw.Try(ctx, "PATCH", path, fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, i))
		switch {
		case ctx.Err() != nil:
		case err != nil || answer.Code != 200:
			t.Errorf("PATCH %s: %d %v", path, answer.Code, err)
			return
		case answer.Object.Kind == "ConfigMap":
			a.add(answer.Object.Metadata.ResourceVersion)
		}
	}
}

var revisionOf = regexp.MustCompile(`"resourceVersion":"(\d+)"`)

// ending has the events of a watch, and its end.
type ending struct {
	name string
	got  map[string]bool // revisions
	err  error           // nil: cleanly
}

// follow reads a watch to its end.
func follow(name string, lines *bufio.Reader) ending {
	e := ending{name: name, got: map[string]bool{}}
	for {
		line, err := lines.ReadString('\n')
		if revision := revisionOf.FindStringSubmatch(line); revision != nil {
			e.got[revision[1]] = true
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				e.err = err
			}
			return e
		}
	}
}

// delay is the latency of a distant etcd: many writes are in progress at any time.
const delay = 30 * time.Millisecond

// distant returns the URL of a proxy that adds the latency to an etcd. The proxy is closed with the test.
func distant(t *testing.T, etcd string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var forwarding sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		forwarding.Wait()
	})
	forwarding.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return // closed
			}
			far, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(etcd, "http://"))
			if err != nil {
				_ = near.Close()
				continue
			}
			forwarding.Go(func() { carry(far, near, 0) })
			forwarding.Go(func() { carry(near, far, delay) })
		}
	})
	return "http://" + listener.Addr().String()
}

// parcel is a piece of data in transit.
type parcel struct {
	data []byte
	due  time.Time
}

// carry forwards the data from one end to the other after the delay, and closes both.
func carry(to io.WriteCloser, from io.ReadCloser, late time.Duration) {
	parcels := make(chan parcel, 1024)
	go func() {
		defer close(parcels)
		for {
			data := make([]byte, 64<<10)
			n, err := from.Read(data)
			if err != nil {
				return
			}
			parcels <- parcel{data[:n], time.Now().Add(late)}
		}
	}()
	for p := range parcels {
		<-time.After(time.Until(p.due))
		_, _ = to.Write(p.data) // the other end closes it when the peer has gone
	}
	_ = to.Close()
	_ = from.Close()
}

// TestDrainUnderWrites checks that a watch that SIGTERM ends has all writes acknowledged before, also by another gateway, while other
// clients continue to write.
func TestDrainUnderWrites(t *testing.T) {
	t.Parallel()
	const writers, watches, least = 8, 48, 200
	other := gatewaytest.Start(t)
	gw := gatewaytest.Start(t, "--etcd-endpoints", distant(t, other.EtcdEndpoint))
	other.Create(t, configMaps, gatewaytest.ConfigMap("first", "")) // each watch begins with it

	ends := make(chan ending, watches)
	for i := range watches {
		kind := []struct{ query, header, value string }{
			{"", "Accept", "application/json"}, {"&allowWatchBookmarks=1", "Accept", "application/json"},
			{"", "Accept-Encoding", "gzip"}, {"", "Accept", "text/event-stream"},
		}[i%4]
		lines := openStream(t, gw, configMaps+"?watch=1"+kind.query, kind.header, kind.value)
		go func() { ends <- follow(fmt.Sprint(i, kind), lines) }()
	}

	var acked acknowledged
	var writing sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer writing.Wait()
	defer stop()
	for i := range writers {
		path := configMaps + "/" + strconv.Itoa(i)
		other.Create(t, configMaps, gatewaytest.ConfigMap(strconv.Itoa(i), ""))
		writing.Go(func() { acked.write(ctx, t, other, path) })
	}
	other.Create(t, "/api/v1/namespaces/default/secrets", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"elsewhere"}}`)
	writing.Go(func() { acked.write(ctx, t, other, "/api/v1/namespaces/default/secrets/elsewhere") })
	gatewaytest.Until(t, "writes", func() bool { return len(acked.now()) >= least })

	before := acked.now()
	gw.Terminate(t)
	for range watches {
		e := <-ends
		if e.err != nil {
			t.Errorf("watch %s broke: %v", e.name, e.err)
		}
		var missing []string
		for _, revision := range before {
			if !e.got[revision] {
				missing = append(missing, revision)
			}
		}
		if len(missing) > 0 {
			t.Errorf("watch %s got %d events, without %v, which were acknowledged before", e.name, len(e.got), missing)
		}
	}
	if after := len(acked.now()); after == len(before) {
		t.Error("nothing was written while the gateway drained")
	}
	if code := gw.Exit(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}
