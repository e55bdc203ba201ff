package delegated

import (
	"sync"
	"testing"
	"time"

	"revtail/gateway/access/authorization"
)

// TestQuestionsAreShared checks that many equal requests at the same time cause one SubjectAccessReview, also if none is cached.
func TestQuestionsAreShared(t *testing.T) {
	kube, _, d, _ := start(t)
	kube.hold = make(chan struct{})
	list := authorization.Attributes{Verb: "watch", Version: "v1", Resource: "pods"}
	var running sync.WaitGroup
	for i := range 100 {
		about := list
		if i%2 == 1 {
			about.Namespace = "a"
		}
		running.Go(func() {
			if err := d.Authorize(reader, about); err != nil {
				t.Error(err)
			}
		})
	}
	for kube.subjects.Load() < 2 {
		<-time.After(time.Millisecond)
	}
	close(kube.hold)
	running.Wait()
	if n := kube.subjects.Load(); n != 2 {
		t.Errorf("100 requests of two kinds cause %d questions", n)
	}
}

// TestKept checks which requests are known to be allowed without a question.
func TestKept(t *testing.T) {
	kube, _, d, now := start(t)
	keys := authorization.Attributes{Verb: "watch", Key: "/a", Keys: []string{"/b"}}
	if d.Kept(reader, keys) || d.Authorize(reader, keys) != nil || !d.Kept(reader, keys) || d.Kept(other, keys) {
		t.Error("the decision about keys is not kept, or one is that was not made")
	}
	list := authorization.Attributes{Verb: "list", Resource: "configmaps"}
	if d.Authorize(other, list) == nil || d.Kept(other, list) {
		t.Error("a denial is kept as an allowance")
	}
	asked := kube.subjects.Load()
	now.Step(MaxStale + time.Second)
	if d.Kept(reader, keys) {
		t.Error("a decision is kept after MaxStale")
	}
	if kube.subjects.Load() != asked {
		t.Error("Kept asks the kube-apiserver")
	}
}

// TestTokensShareIdentities checks that requests with one token have one identity, whose credential ends when its user gets other groups.
func TestTokensShareIdentities(t *testing.T) {
	kube, server, d, _ := start(t)
	first, err := d.ReviewToken(t.Context(), "carol@readers")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := d.ReviewToken(t.Context(), "carol@readers"); err != nil || again != first {
		t.Errorf("another identity: %+v, %v", again, err)
	}
	clients, err := NewClients(config(server))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clients.http.CloseIdleConnections)
	d.clients = func() *Clients { return clients } // without cached answers
	kube.admin.Store(true)
	if first.Holds(time.Now()) {
		t.Error("the token holds for a user whose groups have changed")
	}
	if now, err := d.ReviewToken(t.Context(), "carol@readers"); err != nil || now == first || len(now.Groups) != 2 || !now.Holds(time.Now()) {
		t.Errorf("the identity is %+v, %v", now, err)
	}
}
