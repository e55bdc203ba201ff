package gatewaytest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

// loadedCluster is a kube-apiserver whose ConfigMaps change all the time, a gateway over its etcd, and a journal of what etcd has written.
type loadedCluster struct {
	etcd    *gatewaytest.Keys
	kube    *gatewaytest.KubeAPIServer
	admin   *gatewaytest.Gateway // the kube-apiserver, for its administrator
	gateway *gatewaytest.Gateway
	journal *gatewaytest.Journal

	running sync.WaitGroup
	stop    context.CancelFunc // of the load
}

// startLoaded starts all of it, the kube-apiserver with more arguments if there are any. The load begins with startLoad.
func startLoaded(t *testing.T, args ...string) *loadedCluster {
	t.Helper()
	needCluster(t)
	etcd := gatewaytest.StartEtcd(t, 1)
	c := &loadedCluster{etcd: gatewaytest.DialEtcd(t, etcd.Endpoints()), kube: gatewaytest.StartKubeAPIServer(t, etcd.Endpoints(), args...)}
	c.admin = (&gatewaytest.Gateway{URL: c.kube.URL, TLS: c.kube.TLS}).As(c.kube.Token)
	c.gateway = gatewaytest.Start(t, "--cluster", "--etcd-endpoints", etcd.Endpoints())
	c.journal = c.etcd.Follow(t, c.etcd.Revision(t))
	return c
}

// startLoad changes ConfigMaps until endLoad. What of it is carried out, the journal has.
func (c *loadedCluster) startLoad(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c.stop = stop
	seed := rand.Uint64()
	t.Logf("the load's seed is %d", seed)
	for writer := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, writer)) //nolint:gosec // a failed test can be repeated with its seed
		c.running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				name := fmt.Sprintf("load-%d-%d", writer, random.IntN(6))
				pause := 5 * time.Millisecond
				if err := c.change(t.Context(), random.IntN(5), name, fmt.Sprint(n)); err != nil {
					pause = 50 * time.Millisecond // the kube-apiserver is away
				}
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		})
	}
	t.Cleanup(c.endLoad)
}

func (c *loadedCluster) endLoad() {
	c.stop()
	c.running.Wait()
}

// change creates, changes or deletes a ConfigMap. An answer that refuses it is no error.
func (c *loadedCluster) change(ctx context.Context, action int, name, value string) error {
	method, path, body := http.MethodPatch, configMaps+"/"+name, `{"data":{"value":"`+value+`"}}`
	switch action {
	case 0:
		method, body = http.MethodDelete, ""
	case 1, 2:
		method, path, body = http.MethodPost, configMaps, gatewaytest.ConfigMap(name, value)
	}
	_, err := c.admin.Try(ctx, method, path, body)
	return err
}

// leastChanges is how many changes of the load a test needs.
const leastChanges = 200

// history returns what changes returns. Too few of them fail the test.
func (c *loadedCluster) history(t *testing.T) []string {
	t.Helper()
	out := c.changes(t)
	if len(out) < leastChanges {
		t.Errorf("the load has changed %d objects, want at least %d", len(out), leastChanges)
	}
	return out
}

// changes returns the changes of ConfigMaps in etcd up to now, in order, each as told describes it.
func (c *loadedCluster) changes(t *testing.T) (out []string) {
	t.Helper()
	changes, _ := c.journal.Now(t)
	for _, change := range changes {
		if name, ok := strings.CutPrefix(change.Key, "/registry/configmaps/default/load-"); ok {
			out = append(out, told(change.Deleted, "load-"+name, fmt.Sprint(change.Revision)))
		}
	}
	return out
}

// told describes a change.
func told(deleted bool, name, resourceVersion string) string {
	if deleted {
		return "deleted " + name + " " + resourceVersion
	}
	return "put " + name + " " + resourceVersion
}

// record is what a client has been told, in order.
type record struct {
	mu    sync.Mutex // guards the field below
	tolds []string
}

func (r *record) add(told string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tolds = append(r.tolds, told)
}

// compare waits until the client has been told as many changes as etcd has, and compares them.
func (r *record) compare(t *testing.T, who string, want []string) {
	t.Helper()
	var got []string
	for deadline := time.Now().Add(gatewaytest.Patience); ; <-time.After(20 * time.Millisecond) {
		r.mu.Lock()
		got = append([]string{}, r.tolds...)
		r.mu.Unlock()
		if len(got) >= len(want) || time.Now().After(deadline) {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-etcd +told):\n%s", who, diff)
	}
}

// follower watches the ConfigMaps from one resourceVersion on, by one watch after the other, which may break.
type follower struct {
	record
	who     string
	servers []*gatewaytest.Gateway // in turn, one for each watch
	cut     int                    // the events after which it ends a watch; zero: never

	last    string // resourceVersion
	watches int
	expired map[string]int // how often a server had no history, by its URL; the next watch is that of another server
	failed  error
}

// follow runs a follower until stop is called, which returns when it has ended.
func (f *follower) follow(t *testing.T, from string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	f.last, f.expired = from, make(map[string]int)
	go func() {
		defer close(ended)
		for ; ctx.Err() == nil && f.failed == nil; f.watches++ {
			if events := f.watch(ctx, f.servers[f.watches%len(f.servers)]); events == 0 {
				<-time.After(50 * time.Millisecond) // the server is away
			}
		}
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return stop
}

// watch follows one watch to its end, and returns the number of its events.
func (f *follower) watch(ctx context.Context, server *gatewaytest.Gateway) (events int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+configMaps+"?watch=1&allowWatchBookmarks=true&resourceVersion="+f.last, nil)
	if err != nil {
		f.failed = err
		return 0
	}
	if server.Token != "" {
		req.Header.Set("Authorization", "Bearer "+server.Token)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: server.TLS}}).Do(req)
	if err != nil {
		return 0 // it is away
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return 0 // it is not ready yet
	}
	for frames := json.NewDecoder(bufio.NewReader(resp.Body)); ; {
		var event gatewaytest.Event
		if frames.Decode(&event) != nil {
			return events // the connection is broken, or its watch has ended
		}
		switch {
		case event.Type == "ERROR" && event.Object.Code == http.StatusGone:
			f.expired[server.URL]++
			return events
		case event.Type == "ERROR":
			f.failed = fmt.Errorf("%s: an event of type ERROR: %+v", server.URL, event.Object)
			return events
		case event.Type != "BOOKMARK":
			f.add(told(event.Type == "DELETED", event.Object.Metadata.Name, event.Object.Metadata.ResourceVersion))
			events++
		}
		f.last = event.Object.Metadata.ResourceVersion
		if events == f.cut && f.cut > 0 {
			return events
		}
	}
}

// end stops a follower when it has all changes, and compares them.
func (f *follower) end(t *testing.T, stop func(), want []string) {
	t.Helper()
	f.compare(t, f.who, want)
	stop()
	if f.failed != nil {
		t.Errorf("%s: %v", f.who, f.failed)
	}
}
