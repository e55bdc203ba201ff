package access

import (
	"log/slog"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"

	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
)

// callerWith returns a caller with an identity whose request has attributes.
func callerWith(identity *authentication.Identity, attributes authorization.Attributes) *Caller {
	return &Caller{Identity: identity, Real: identity, info: &request.Info{Attributes: attributes}}
}

// TestDecisionOf checks which callers share a decision: those of whom the same is asked.
func TestDecisionOf(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	c := NewControl(response.NewResponder(logger), logger, nil, nil, nil, nil)
	alice := func() *authentication.Identity {
		return &authentication.Identity{Name: "alice", Groups: []string{"a", "b"}}
	}
	pods := authorization.Attributes{Verb: "watch", Resource: "pods", Namespace: "a"}
	impersonating := callerWith(alice(), pods)
	impersonating.Real = &authentication.Identity{Name: "bob"}
	token := authentication.Reviewed(&user.DefaultInfo{Name: "alice", Groups: []string{"a", "b"}}, func() bool { return true })
	want, err := c.DecisionOf(callerWith(alice(), pods), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, caller := range map[string]*Caller{
		"same":              callerWith(alice(), pods),
		"another user":      callerWith(&authentication.Identity{Name: "alic", Groups: []string{"ea", "b"}}, pods),
		"fewer groups":      callerWith(&authentication.Identity{Name: "alice", Groups: []string{"a"}}, pods),
		"joined groups":     callerWith(&authentication.Identity{Name: "alice", Groups: []string{"ab"}}, pods),
		"an extra":          callerWith(&authentication.Identity{Name: "alice", Groups: []string{"a", "b"}, Extra: map[string][]string{"scopes": {"x"}}}, pods),
		"another verb":      callerWith(alice(), authorization.Attributes{Verb: "list", Resource: "pods", Namespace: "a"}),
		"another namespace": callerWith(alice(), authorization.Attributes{Verb: "watch", Resource: "pods", Name: "a"}),
		"a selector":        callerWith(alice(), authorization.Attributes{Verb: "watch", Resource: "pods", Namespace: "a", FieldSelector: "x=y"}),
		"keys":              callerWith(alice(), authorization.Attributes{Verb: "watch", Resource: "pods", Namespace: "a", Keys: []string{"/b"}}),
		"impersonation":     impersonating,
		"a reviewed token":  callerWith(token, pods),
	} {
		got, err := c.DecisionOf(caller, time.Now())
		if err != nil || (got == want) != (name == "same") {
			t.Errorf("%s: equal is %v, error %v", name, got == want, err)
		}
		if phase := got.Phase(); phase < 0 || phase >= 1 {
			t.Errorf("%s: phase %v", name, phase)
		}
	}
	if _, err := c.DecisionOf(callerWith(&authentication.Identity{Name: "alice", Expires: time.Now()}, pods), time.Now()); !apierrors.IsUnauthorized(err) {
		t.Errorf("an expired credential: %v", err)
	}
}
