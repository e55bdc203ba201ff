package gatewaytest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// flow is a line of /debug/flows.
type flow struct {
	User, Resource, Reason   string
	InUse, Waiting, Rejected int
}

// flowOf returns what a user holds and waits for.
func (g *guarded) flowOf(t *testing.T, user, resource string) flow {
	t.Helper()
	var answer struct{ Flows []flow }
	text := g.user("root").Do(t, http.MethodGet, "/debug/flows", "")
	if err := json.Unmarshal([]byte(text.Body), &answer); err != nil {
		t.Fatalf("%d %s: %v", text.Code, text.Body, err)
	}
	i := slices.IndexFunc(answer.Flows, func(f flow) bool { return f.User == user && f.Resource == resource })
	if i < 0 {
		return flow{}
	}
	return answer.Flows[i]
}

func startShared(t *testing.T, args ...string) *guarded {
	t.Helper()
	users := []string{"root", "greedy", "modest", "new"}
	policy := ""
	for _, user := range users {
		policy += bind(user, "cluster-admin")
	}
	return startGuarded(t, false, users, policy, args...)
}

// wantHeldBack checks a 429 with Retry-After.
func wantHeldBack(t *testing.T, answer gatewaytest.Answer) {
	t.Helper()
	if answer.Code != 429 || answer.Header.Get("Retry-After") == "" {
		t.Errorf("%d %v %s, want 429 with Retry-After", answer.Code, answer.Header, answer.Body)
	}
}

// TestSharesOfWatches checks that a user who opens as many watches as it can leaves a quarter to another one, and one to a third.
func TestSharesOfWatches(t *testing.T) {
	t.Parallel()
	g := startShared(t, "--max-watches", "8")
	const watch = configMaps + "?watch=1"
	for _, share := range []struct {
		user    string
		watches int
	}{{"greedy", 4}, {"modest", 2}, {"new", 1}} {
		for range share.watches {
			g.user(share.user).Watch(t, watch)
		}
		wantHeldBack(t, g.user(share.user).Do(t, http.MethodGet, watch, ""))
	}
	wantHeldBack(t, g.user("modest").Do(t, http.MethodGet, "/v1/keys/app/?since=1&wait=1s", ""))
	if f := g.flowOf(t, "greedy", "watches"); f.InUse != 4 || f.Rejected != 1 || f.Reason != "share" {
		t.Errorf("/debug/flows has %+v", f)
	}
	if n := g.user("root").Do(t, http.MethodGet, "/metrics", "").Metric(`revtail_requests_refused_total{reason="too_many_watches"}`); n != "4" {
		t.Errorf("%s refusals are counted", n)
	}
	gatewaytest.Until(t, "a line in the log", func() bool { return strings.Contains(g.Log(t), "a user is held back") })
}

// TestSharesOfRequests checks that requests of a user who sends more than its share wait, or are refused after a time, and that those of
// others are answered at once.
func TestSharesOfRequests(t *testing.T) {
	t.Parallel()
	const most = 8
	g := startShared(t, "--max-requests-inflight", fmt.Sprint(most))
	var held []net.Conn
	for range most / 2 {
		held = append(held, g.holdRequest(t, "greedy"))
	}
	gatewaytest.Until(t, "the requests to be in flight", func() bool { return g.flowOf(t, "greedy", "requests").InUse == most/2 })
	waiting := make(chan gatewaytest.Answer, 2)
	wait := func() {
		answer, err := g.user("greedy").Try(t.Context(), http.MethodGet, configMaps, "")
		if err != nil {
			t.Error(err)
		}
		waiting <- answer
	}
	go wait()
	gatewaytest.Until(t, "a request to wait", func() bool { return g.flowOf(t, "greedy", "requests").Waiting == 1 })
	for range 3 * most {
		if answer := g.user("modest").Do(t, http.MethodGet, configMaps, ""); answer.Code != 200 {
			t.Errorf("another user: %d %s", answer.Code, answer.Body)
		}
	}
	if answer := g.user("greedy").Do(t, http.MethodGet, "/readyz", ""); answer.Code != 200 {
		t.Errorf("/readyz answers %d", answer.Code)
	}
	wantHeldBack(t, <-waiting)
	go wait()
	gatewaytest.Until(t, "a request to wait", func() bool { return g.flowOf(t, "greedy", "requests").Waiting == 1 })
	_ = held[0].Close()
	if answer := <-waiting; answer.Code != 200 {
		t.Errorf("when another request has ended: %d %s", answer.Code, answer.Body)
	}
}

// holdRequest begins a request whose body does not come.
func (g *guarded) holdRequest(t *testing.T, user string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(gatewaytest.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err = io.WriteString(conn, "POST "+configMaps+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Authorization: Bearer token-of-"+user+"\r\nExpect: 100-continue\r\nContent-Length: 3000000\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != http.StatusContinue { // sent when the handler reads
		t.Fatalf("%v %v", resp, err)
	}
	return conn
}

// TestPollsAreRevoked checks that a long poll whose user has lost the right to it is answered with 401 or 403, and not with what has changed.
func TestPollsAreRevoked(t *testing.T) {
	t.Parallel()
	g := startShared(t)
	poll := func(user string) <-chan gatewaytest.Answer {
		answers := make(chan gatewaytest.Answer, 1)
		go func() {
			answer, err := g.user(user).Try(t.Context(), http.MethodGet, "/v1/keys/app/?since=1&wait=5m", "")
			if err != nil {
				t.Error(err)
			}
			answers <- answer
		}()
		gatewaytest.Until(t, "the poll to be open", func() bool { return g.flowOf(t, user, "watches").InUse == 1 })
		return answers
	}
	forbidden, unauthorized := poll("modest"), poll("greedy")
	replaceFile(t, g.policy, []byte(bind("root", "cluster-admin")+bind("greedy", "cluster-admin")))
	g.Hangup(t)
	if answer := <-forbidden; answer.Code != 403 {
		t.Errorf("without the right: %d %s", answer.Code, answer.Body)
	}
	g.writeTokens(t, "root", "modest")
	g.Hangup(t)
	if answer := <-unauthorized; answer.Code != 401 {
		t.Errorf("without the token: %d %s", answer.Code, answer.Body)
	}
}
