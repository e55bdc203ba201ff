package abuse

import (
	"cmp"
	"context"
	"net/http"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// attack is what one user does to the others.
type attack struct {
	name string
	args []string // further arguments of the gateway

	// beside: etcd is another process, so that what it holds in memory does not count.
	beside bool

	// prepare writes the objects that the attack needs, before the victim is measured alone; nil: none.
	prepare func(s *scene)
	// run attacks until it is over, or ctx ends. It returns what the attacker did, in a few words.
	run func(ctx context.Context, s *scene) string

	// also is what the victim does besides after each write; nil: nothing.
	also func(ctx context.Context, s *scene, n int) error

	memory int64         // MiB that the process may grow by; zero: growth
	time   time.Duration // how long it may run; zero: longest
}

const (
	// growth is how much memory an attack may cost, in MiB, unless it says otherwise.
	growth = 256
	// alone is how long the victim is measured before the attack.
	alone = time.Second
	// longest is how long an attack may run, unless it says otherwise.
	longest = time.Minute
	// worst is the longest delay of the victim that passes: what the gateway promises is a tenth of it, on a machine that does nothing else.
	worst = 10 * time.Second
)

// scene is a gateway with two users.
type scene struct {
	*testing.T
	gateway *gatewaytest.Gateway // as the attacker
	victim  *gatewaytest.Gateway
	codes   codes // of the attacker's responses
}

// result is a line of the table.
type result struct {
	name          string
	did           string
	answers       string
	cpu           time.Duration // of the gateway, during the attack
	grown         int64         // MiB
	before, under delays        // of the victim
	refused       int           // requests of the victim, during the attack
}

// perform runs an attack against a gateway of its own.
func perform(t *testing.T, a *attack) result {
	t.Helper()
	args := append([]string{"--token-file", writeTokens(t, "attacker", "victim"), "--keys-writable", "/app/"}, a.args...)
	if a.beside {
		args = append(args, "--etcd-endpoints", gatewaytest.StartEtcd(t, 1, "--unsafe-no-fsync").Endpoints())
	}
	g := gatewaytest.Start(t, args...)
	s := &scene{T: t, gateway: g.As(tokenOf("attacker")), victim: g.As(tokenOf("victim"))}
	if a.prepare != nil {
		a.prepare(s)
	}
	v := startVictim(s, a.also)
	<-time.After(alone)
	out := result{name: a.name, before: v.take()}
	cpu, resident := usageOf(t, g)
	watching := watchMemory(t, g)
	ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(a.time, longest))
	out.did = a.run(ctx, s)
	cancel()
	out.under, out.refused = v.end()
	after, _ := usageOf(t, g)
	out.cpu, out.grown = after-cpu, (watching()-resident)>>20
	out.answers = s.codes.String()
	out.check(t, a)
	return out
}

// check fails the test if the victim suffered.
func (r result) check(t *testing.T, a *attack) {
	t.Helper()
	limit := a.memory
	if limit == 0 {
		limit = growth
	}
	switch {
	case len(r.under) == 0:
		t.Error("the victim got nothing during the attack")
	case r.under.most() > worst:
		t.Errorf("an event of the victim came after %v", r.under.most())
	}
	if r.refused > 0 {
		t.Errorf("%d requests of the victim were refused", r.refused)
	}
	if r.grown > limit {
		t.Errorf("the gateway has grown by %d MiB, want %d at most", r.grown, limit)
	}
}

// do sends a request of the attacker, and counts its code.
func (s *scene) do(ctx context.Context, method, path, body string) {
	answer, err := s.gateway.Try(ctx, method, path, body)
	if err == nil {
		s.codes.count(answer.Code)
	}
}

// put writes an object that exists.
func (s *scene) put(path, body string) {
	s.Helper()
	if answer := s.gateway.Do(s, http.MethodPut, path, body); answer.Code != http.StatusOK {
		s.Fatalf("PUT %s: %d %.300s", path, answer.Code, answer.Body)
	}
}
