package clients

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"revtail/gateway/gatewaytest"
)

// candidates is the number of candidates in an election, and leaseDuration the time after which they replace a leader that is gone.
const (
	candidates    = 10
	leaseDuration = 2 * time.Second
)

// TestLeaderElection checks that one of ten candidates leads, and that another one leads when the lease of a killed leader has expired, or
// as soon as a leader releases it. The history of the lease shows that there are never two leaders, and that no candidate took it from its
// holder.
func TestLeaderElection(t *testing.T) {
	t.Parallel()
	e := newElection(t, gatewaytest.Start(t))
	e.join(t, "gone", false)
	if leader := e.next(t); leader != "gone" {
		t.Fatalf("the only candidate is not the leader, but %q", leader)
	}
	for i := range candidates - 1 {
		e.join(t, fmt.Sprint("candidate-", i), true)
	}
	leaders := []string{"gone"}
	for range 4 {
		e.leave(leaders[len(leaders)-1])
		leader := e.next(t)
		if slices.Contains(leaders, leader) {
			t.Fatalf("%q has ended, but leads again", leader)
		}
		leaders = append(leaders, leader)
	}
	e.end(t, leaders)
}

// election is one lease, its candidates, and its history.
type election struct {
	client  kubernetes.Interface
	elected chan string
	leaders map[string]func() // functions that end a candidate, and wait for its end

	mu      sync.Mutex // guards the field below
	history []*coordinationv1.Lease
}

func newElection(t *testing.T, gw *gatewaytest.Gateway) *election {
	t.Helper()
	c := newClient(t, gw)
	c.config.Transport = protobufOnly{t: t, next: c.config.Transport}
	e := &election{client: c.typed(t), elected: make(chan string, candidates), leaders: make(map[string]func())}
	watch, err := e.client.CoordinationV1().Leases(namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watch.ResultChan() {
			if lease, ok := event.Object.(*coordinationv1.Lease); ok {
				e.mu.Lock()
				e.history = append(e.history, lease)
				e.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		watch.Stop()
		<-ended
	})
	return e
}

// protobufOnly is a transport that refuses other bodies, so that the test proves that protobuf works.
type protobufOnly struct {
	t    *testing.T
	next http.RoundTripper
}

func (p protobufOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if contentType := req.Header.Get("Content-Type"); req.Body != nil && contentType != "application/vnd.kubernetes.protobuf" {
		p.t.Errorf("%s %s has a body of type %q", req.Method, req.URL.Path, contentType)
	}
	return p.next.RoundTrip(req)
}

// join adds a candidate. One that does not release the lease ends as if it had been killed.
func (e *election) join(t *testing.T, name string, release bool) {
	t.Helper()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Name: "election", Namespace: namespace}, Client: e.client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		},
		LeaseDuration: leaseDuration, RenewDeadline: leaseDuration * 3 / 4, RetryPeriod: leaseDuration / 20, ReleaseOnCancel: release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { e.elected <- name },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(ctx)
	}()
	e.leaders[name] = func() {
		cancel()
		<-ended
	}
	t.Cleanup(e.leaders[name])
}

func (e *election) leave(name string) { e.leaders[name]() }

// next returns the next elected leader.
func (e *election) next(t *testing.T) string {
	t.Helper()
	select {
	case name := <-e.elected:
		return name
	case <-time.After(gatewaytest.Patience):
		t.Fatal("no candidate was elected")
		return ""
	}
}

// end ends the election and checks every state of the lease. The earlier leaders were the first to hold it.
func (e *election) end(t *testing.T, leaders []string) {
	t.Helper()
	for _, leave := range e.leaders {
		leave()
	}
	last, err := e.client.CoordinationV1().Leases(namespace).Get(t.Context(), "election", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	states := func() []*coordinationv1.Lease {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.history
	}
	gatewaytest.Until(t, "the last state of the lease", func() bool {
		seen := states()
		return len(seen) > 0 && seen[len(seen)-1].ResourceVersion == last.ResourceVersion
	})
	var holders []string
	before := coordinationv1.LeaseSpec{HolderIdentity: new("")}
	for _, lease := range states() {
		holder := *lease.Spec.HolderIdentity
		if holder != "" && (len(holders) == 0 || holders[len(holders)-1] != holder) {
			holders = append(holders, holder)
		}
		checkSuccession(t, before, lease.Spec)
		before = lease.Spec
	}
	if len(holders) < len(leaders) || !slices.Equal(holders[:len(leaders)], leaders) {
		t.Errorf("the holders of the lease were %q, the leaders %q", holders, leaders)
	}
}

// checkSuccession checks one change of a lease: its holder renews it, or another candidate gets it when it is free.
func checkSuccession(t *testing.T, before, after coordinationv1.LeaseSpec) {
	t.Helper()
	from, to := *before.HolderIdentity, *after.HolderIdentity
	if from == "" || to == "" {
		return // the lease was free or released
	}
	if from == to {
		if !after.AcquireTime.Equal(before.AcquireTime) || after.RenewTime.Before(before.RenewTime) {
			t.Errorf("%s renewed at %v, after %v, what it holds since %v, not %v", to, after.RenewTime, before.RenewTime, after.AcquireTime, before.AcquireTime)
		}
		return
	}
	if free := before.RenewTime.Add(leaseDuration); after.AcquireTime.Time.Before(free) {
		t.Errorf("%s took the lease at %v, while %s held it until %v", to, after.AcquireTime, from, free)
	}
	if *after.LeaseTransitions != *before.LeaseTransitions+1 {
		t.Errorf("%s took the lease from %s, and its transitions went from %d to %d", to, from, *before.LeaseTransitions, *after.LeaseTransitions)
	}
}
