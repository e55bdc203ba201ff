package abuse

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"revtail/gateway/gatewaytest"
)

// patchAttack is a small patch of a large object, which a client sends again and again.
type patchAttack struct {
	name        string
	collection  string
	object      func(n int) string // with a list of n members
	members     int
	contentType string
	patch       string
}

const (
	strategicMerge = "application/strategic-merge-patch+json"
	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"
)

// The containers of a PodTemplate may be changed, those of a Pod may not.
const attackerTemplates = "/api/v1/namespaces/attacker/podtemplates"

var patches = []patchAttack{
	{"env", attackerTemplates, templateWithEnv, 15_000, strategicMerge, `{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"new","value":"1"}]}]}}}`},
	{"order of env", attackerTemplates, templateWithEnv, 15_000, strategicMerge,
		`{"template":{"spec":{"containers":[{"name":"c","$setElementOrder/env":[{"name":"e1"},{"name":"e2"}],"env":[{"name":"e1","value":"x"}]}]}}}`},
	{"finalizers", attackerPath, withFinalizers, 16_000, strategicMerge, `{"metadata":{"finalizers":["example.com/new"]}}`},
	{"JSON patch of the head of a list", attackerTemplates, templateWithEnv, 15_000, jsonPatch,
		"[" + strings.TrimSuffix(strings.Repeat(`{"op":"add","path":"/template/spec/containers/0/env/0","value":{"name":"n"}},`, 50), ",") + "]"},
	{"merge patch", attackerTemplates, templateWithEnv, 15_000, mergePatch, `{"metadata":{"labels":{"a":"b"}}}`},
	{"apply", attackerTemplates, templateWithEnv, 15_000, applyPatch, `{"apiVersion":"v1","kind":"PodTemplate","metadata":{"name":"target","labels":{"a":"b"}}}`},
}

// patchAttacks send each patch ten times.
func patchAttacks() (out []attack) {
	for _, p := range patches {
		out = append(out, attack{
			name: "patch: " + p.name, memory: 512,
			prepare: func(s *scene) { s.gateway.Create(s, p.collection, p.object(p.members)) },
			run:     func(ctx context.Context, s *scene) string { return s.patch(ctx, p) },
		})
	}
	return out
}

// tolerated is the processor time for one patch that passes: the gateway promises a tenth of it.
const tolerated = 2 * time.Second

func (s *scene) patch(ctx context.Context, p patchAttack) string {
	s.Helper()
	const times = 10
	before, _ := usageOf(s.T, s.gateway)
	for range times {
		code, err := s.send(ctx, s.gateway, p)
		if err != nil {
			s.Errorf("patch: %v", err)
			break
		}
		s.codes.count(code)
	}
	after, _ := usageOf(s.T, s.gateway)
	each := (after - before) / times
	if each > tolerated {
		s.Errorf("a patch took %v of processor time", each)
	}
	return fmt.Sprintf("%d bytes on %d members: %s a patch, the victim included", len(p.patch), p.members, short(each))
}

func (s *scene) send(ctx context.Context, g *gatewaytest.Gateway, p patchAttack) (code int, err error) {
	url := g.URL + p.collection + "/target?fieldManager=attacker&force=true"
	if p.contentType != applyPatch {
		url = strings.TrimSuffix(url, "&force=true")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPatch, url, strings.NewReader(p.patch))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+g.Token)
	r.Header.Set("Content-Type", p.contentType)
	resp, err := streams.Do(r)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// members joins n texts with a comma.
func members(n int, text func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = text(i)
	}
	return strings.Join(parts, ",")
}

func templateWithEnv(n int) string {
	env := members(n, func(i int) string { return fmt.Sprintf(`{"name":"e%d"}`, i) })
	return `{"apiVersion":"v1","kind":"PodTemplate","metadata":{"name":"target"},"template":{"spec":{"containers":[{"name":"c","image":"i","env":[` + env + `]}]}}}`
}

func withFinalizers(n int) string {
	finalizers := members(n, func(i int) string { return fmt.Sprintf(`"e.com/%d"`, i) })
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"target","finalizers":[` + finalizers + `]}}`
}
