package delegated

import (
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"

	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
)

// TestDenialsOfAStart checks that a kube-apiserver that has not read its roles yet takes no right away, and that one that is ready does.
func TestDenialsOfAStart(t *testing.T) {
	get := authorization.Attributes{Verb: "get", Resource: "secrets"}
	const token = "carol@readers"
	for what, ask := range map[string]func(*Delegate) (lost bool, err error){
		"a request": func(d *Delegate) (bool, error) {
			err := d.Authorize(reader, get)
			return apierrors.IsForbidden(err), err
		},
		"a token": func(d *Delegate) (bool, error) {
			_, err := d.ReviewToken(t.Context(), token)
			return errors.Is(err, authentication.ErrRefused), err
		},
	} {
		kube, _, d, _ := start(t)
		probe(t, d)
		d.allows.Add(d.requestKey(reader, get), struct{}{}, MaxStale)
		d.keepUser(d.digest(token), token, &user.DefaultInfo{Name: "carol", UID: "1", Groups: []string{"readers"}})
		for _, step := range []struct {
			name         string
			denies       bool
			readyz       int64
			lost, isAway bool // afterwards
		}{
			{"it has just begun", true, http.StatusForbidden, false, true},
			{"some informers are not synced", true, http.StatusInternalServerError, false, true},
			{"it is ready, and a cache has the first answer", false, 0, false, false},
			{"it revokes", true, 0, true, false},
		} {
			kube.denies.Store(step.denies)
			kube.readyz.Store(step.readyz)
			if d.availability.Away() {
				probe(t, d)
			}
			if lost, err := ask(d); lost != step.lost || (err != nil) != lost {
				t.Errorf("%s: %s: %v", step.name, what, err)
			}
			if away := d.availability.Away(); away != step.isAway {
				t.Errorf("%s: %s: away: %t", step.name, what, away)
			}
		}
	}
}

// TestDenialProbes checks that a denial makes the delegate ask whether the kube-apiserver is ready, and does not wait for the next probe.
func TestDenialProbes(t *testing.T) {
	for _, code := range []int64{0, http.StatusForbidden} { // of the questions
		kube, _, d, _ := start(t)
		probe(t, d)
		get := authorization.Attributes{Verb: "get", Resource: "secrets"}
		d.allows.Add(d.requestKey(reader, get), struct{}{}, MaxStale)
		kube.denies.Store(true)
		kube.readyz.Store(http.StatusForbidden)
		kube.code.Store(code)
		if err := d.Authorize(reader, get); err != nil || !d.availability.Away() {
			t.Errorf("questions get %d: %v, away: %t", code, err, d.availability.Away())
		}
	}
}

// TestRefusedProbe checks how long a kube-apiserver that refuses probes counts as one that starts.
func TestRefusedProbe(t *testing.T) {
	a, began := NewAvailability("", slog.New(slog.DiscardHandler)), time.Now()
	broken := errors.New("broken")
	for _, step := range []struct {
		what     string
		second   int
		admitted bool
		err      error
		away     bool
	}{
		{"probes were never admitted", 0, false, nil, false},
		{"admitted", 1, true, nil, false},
		{"refused", 2, false, nil, true},
		{"no connection", 50, false, broken, true},
		{"refused again", 100, false, nil, true},
		{"still refused", 159, false, nil, true},
		{"refused for too long", 160, false, nil, false},
		{"as the last time", 161, false, nil, false},
		{"no connection", 162, false, broken, true},
		{"as before", 163, false, nil, false},
		{"admitted", 164, true, nil, false},
		{"refused", 165, false, nil, true},
		{"admitted", 166, true, nil, false},
	} {
		err := a.observe(step.admitted, step.err, began.Add(time.Duration(step.second)*time.Second))
		if a.Away() != step.away || (err != nil) != step.away {
			t.Errorf("second %d, %s: away: %t, %v", step.second, step.what, a.Away(), err)
		}
	}
}
