package gatewaytest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

// TestClusterKill checks that clients lose no event when the gateway and the kube-apiserver end by kill -9, in turn and under a load: each resumes at
// its last resourceVersion, at the same server or at the other. The gateway writes nothing to etcd, also not when it starts after such an end.
func TestClusterKill(t *testing.T) {
	t.Parallel()
	c := startLoaded(t)
	from := c.gateway.Get(t, configMaps).Metadata.ResourceVersion
	followers := []*follower{
		{who: "a client of the gateway", servers: []*gatewaytest.Gateway{c.gateway}},
		{who: "a client of the gateway whose watches are cut", servers: []*gatewaytest.Gateway{c.gateway}, cut: 10},
		{who: "a client of both", servers: []*gatewaytest.Gateway{c.gateway, c.admin}, cut: 30},
		{who: "a client of both that begins at the kube-apiserver", servers: []*gatewaytest.Gateway{c.admin, c.gateway}, cut: 30},
	}
	var stops []func()
	for _, f := range followers {
		stops = append(stops, f.follow(t, from))
	}
	c.startLoad(t)
	for range 2 {
		for range 2 {
			c.awaitChanges(t)
			c.gateway.Kill(t)
			c.awaitChanges(t)
			c.gateway.Restart(t)
		}
		c.awaitChanges(t)
		c.kube.Kill(t)
		c.gateway.Get(t, configMaps)
		c.kube.Restart(t)
	}
	c.awaitChanges(t)
	c.endLoad()
	history := c.history(t)
	for i, f := range followers {
		f.end(t, stops[i], history)
		if n := f.expired[c.gateway.URL]; n > 0 {
			t.Errorf("%s has %d times 410 of the gateway", f.who, n)
		}
	}
	c.compareOld(t)
	c.checkUnchanged(t)
}

// awaitChanges waits until the load has changed more objects.
func (c *loadedCluster) awaitChanges(t *testing.T) {
	t.Helper()
	const more = 50
	before := c.etcd.Revision(t)
	gatewaytest.Until(t, "a load that goes on", func() bool { return c.etcd.Revision(t) >= before+more })
}

// compareOld compares watches that resume at a revision that etcd has compacted, and that the kube-apiserver has not seen since it started.
func (c *loadedCluster) compareOld(t *testing.T) {
	t.Helper()
	c.etcd.Compact(t, c.etcd.Revision(t))
	c.gateway.Kill(t)
	c.gateway.Restart(t)
	var answers []map[string][]any
	for _, s := range []apiServer{connect(t, c.kube.URL, "Bearer "+c.kube.Token, c.kube.TLS), connect(t, c.gateway.URL, "", nil)} {
		events := s.events(t, configMaps+"?watch=1&timeoutSeconds=1&resourceVersion=2")
		for _, event := range events["/"] {
			if status, ok := event.(map[string]any); ok {
				message, _ := status["message"].(string)
				status["message"], _, _ = strings.Cut(message, " (") // where its history begins is not the same
			}
		}
		answers = append(answers, events)
	}
	if diff := cmp.Diff(answers[0], answers[1]); diff != "" || len(answers[0]) != 1 {
		t.Errorf("%v (-kube-apiserver +gateway):\n%s", answers[0], diff)
	}
}

// checkUnchanged ends the kube-apiserver, and checks that etcd stays as it is when the gateway is killed, starts and answers.
func (c *loadedCluster) checkUnchanged(t *testing.T) {
	t.Helper()
	c.kube.Kill(t)
	before := c.etcd.Revision(t)
	for range 2 {
		c.gateway.Kill(t)
		c.gateway.Restart(t)
		for _, path := range []string{configMaps, "/api/v1/pods", "/apis/apps/v1/deployments", "/api/v1/nodes?limit=1", "/apis", "/openapi/v3"} {
			c.gateway.Get(t, path)
		}
		if answer := c.gateway.Do(t, http.MethodPost, configMaps, gatewaytest.ConfigMap("x", "")); answer.Code != http.StatusMethodNotAllowed {
			t.Errorf("a write: %d %s", answer.Code, answer.Body)
		}
	}
	<-time.After(time.Second)
	changes, _ := c.journal.Now(t)
	for _, change := range changes {
		if !strings.HasPrefix(change.Key, "/registry/") {
			t.Errorf("%v, and not by the kube-apiserver", change)
		}
		if change.Revision > before && !change.Deleted { // etcd deletes what has a lease of the kube-apiserver
			t.Errorf("%v, after revision %d", change, before)
		}
	}
}
