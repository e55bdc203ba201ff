package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"revtail/gateway/access"
	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/http/response"
)

// judge is an access.Delegate and an authentication.Reviewer that counts the reviews. A token is the name of its user.
type judge struct {
	mu         sync.Mutex // guards the fields below
	denied     bool       // all users but the silent one
	silent     string     // of a user about whom it does not answer until the time of a question is over; "*": of all
	forgotten  bool       // nothing is kept
	asked      map[string]int
	inProgress int
	most       int // questions in progress at the same time
}

func (*judge) ReviewToken(_ context.Context, token string) (*authentication.Identity, error) {
	return &authentication.Identity{Name: token, Groups: []string{authentication.AuthenticatedAll}}, nil
}

const questionTimeout = 5 * time.Second

func (j *judge) Authorize(identity *authentication.Identity, about authorization.Attributes) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.asked == nil {
		j.asked = make(map[string]int)
	}
	j.asked[identity.Name+" "+about.Namespace]++
	j.inProgress++
	j.most = max(j.most, j.inProgress)
	defer func() { j.inProgress-- }()
	if j.silent == identity.Name || j.silent == "*" {
		j.mu.Unlock()
		<-time.After(questionTimeout)
		j.mu.Lock()
		if j.forgotten {
			return access.ErrUndecided
		}
		return nil // an earlier decision
	}
	if j.denied {
		return about.ForbiddenBecause(identity.Name, "no rule")
	}
	return nil
}

func (j *judge) Kept(*authentication.Identity, authorization.Attributes) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.forgotten
}

func (j *judge) set(change func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change()
}

// judged is a Service whose streams a judge decides about.
type judged struct {
	*Service
	judge *judge

	mu    sync.Mutex // guards the field below
	ended map[string][]error
}

func newJudged() *judged {
	logger, j := slog.New(slog.DiscardHandler), new(judge)
	authenticator := authentication.New(authentication.Sources{Reviewer: j})
	return &judged{judge: j, ended: make(map[string][]error),
		Service: &Service{Access: access.NewControl(response.NewResponder(logger), logger, authenticator, nil, j, nil), Logger: logger}}
}

// open opens a watch of a user in a namespace.
func (s *judged) open(t *testing.T, user, namespace string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/namespaces/"+namespace+"/configmaps?watch=1", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+user)
	opened := false
	s.Access.Authenticate(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		entry, ctx, err := s.Registry.Add(r)
		if err != nil {
			t.Error(err)
			return
		}
		opened = true
		go func() {
			<-ctx.Done()
			if why := entry.Revoked(); why != nil {
				s.mu.Lock()
				s.ended[user] = append(s.ended[user], why)
				s.mu.Unlock()
			}
			entry.Done()
		}()
	})).ServeHTTP(httptest.NewRecorder(), r)
	if !opened {
		t.Fatalf("the watch of %s is refused", user)
	}
}

func (s *judged) revoked(user string) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended[user]
}

// run revalidates until the end of a test.
func (s *judged) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Revalidate(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
}

const someUsers = 200

func user(i int) string { return fmt.Sprintf("user%d", i) }

// TestReviewsAreShared checks that watches of one user for the same share one review in each round.
func TestReviewsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newJudged()
		for range 100 {
			s.open(t, "alice", "a")
			s.open(t, "alice", "b")
			s.open(t, "bob", "a")
		}
		s.judge.set(func() { s.judge.asked = nil })
		s.run(t)
		<-time.After(2*expiryEvery - revalidateEvery/2) // one round
		s.judge.set(func() {
			for _, who := range []string{"alice a", "alice b", "bob a"} {
				if n := s.judge.asked[who]; n != 1 {
					t.Errorf("it is asked %d times about %s", n, who)
				}
			}
		})
	})
}

// TestSlowReviewsDelayNoOtherUsers checks that many users lose watches after their rights, while questions about another user, with more watches than there are
// places for reviews, have no answer, and that the watches of that user stay.
func TestSlowReviewsDelayNoOtherUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newJudged()
		for i := range 10 * maxReviews {
			s.open(t, "stalled", fmt.Sprintf("n%d", i))
		}
		for i := range someUsers {
			for range 50 {
				s.open(t, user(i), "a")
			}
		}
		s.run(t)
		s.judge.set(func() { s.judge.silent, s.judge.denied = "stalled", true })
		<-time.After(3 * expiryEvery) // the first round, and the time of the first questions without an answer
		for i := range someUsers {
			ended := s.revoked(user(i))
			if len(ended) != 50 || !apierrors.IsForbidden(ended[0]) {
				t.Fatalf("%d of 50 watches of %s have ended: %v", len(ended), user(i), errors.Join(ended...))
			}
		}
		if ended := s.revoked("stalled"); len(ended) != 0 {
			t.Errorf("%d watches end before anything is decided: %v", len(ended), ended[0])
		}
		s.judge.set(func() {
			if s.judge.most > 2*maxReviews {
				t.Errorf("%d questions at the same time", s.judge.most)
			}
			s.judge.silent = ""
		})
		<-time.After(6 * expiryEvery)
		if ended := s.revoked("stalled"); len(ended) != 10*maxReviews || !apierrors.IsForbidden(ended[0]) {
			t.Errorf("%d of %d watches end when the questions have answers", len(ended), 10*maxReviews)
		}
	})
}

// TestWatchesWithoutReviewsEnd checks that watches end with 503 if no decision about them is kept, also those whose review waits behind others without
// an answer.
func TestWatchesWithoutReviewsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newJudged()
		const watches = 100 * maxReviews // reviewing all of them would take minutes
		for i := range watches {
			s.open(t, "alice", fmt.Sprintf("n%d", i))
		}
		s.judge.set(func() { s.judge.silent = "*" })
		s.run(t)
		<-time.After(6 * expiryEvery)
		if ended := s.revoked("alice"); len(ended) != 0 {
			t.Fatalf("%d watches end although their decisions are kept: %v", len(ended), ended[0])
		}
		s.judge.set(func() { s.judge.forgotten = true })
		<-time.After(3 * expiryEvery)
		ended := s.revoked("alice")
		if len(ended) != watches {
			t.Fatalf("%d of %d watches end", len(ended), watches)
		}
		for _, why := range ended {
			if !errors.Is(why, access.ErrUndecided) {
				t.Fatal(why)
			}
		}
	})
}

// TestWatchesBehindSlowReviewsEnd checks that watches of many users end if the reviews of others hold all places for longer than a decision is used.
func TestWatchesBehindSlowReviewsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newJudged()
		const users = 90 * maxReviews // whose questions take 450 s
		for i := range users {
			s.open(t, user(i), "a")
		}
		s.judge.set(func() { s.judge.silent = "*" })
		s.run(t)
		<-time.After(maxUnreviewed + 3*expiryEvery)
		undecided := 0
		for i := range users {
			for _, why := range s.revoked(user(i)) {
				if !errors.Is(why, access.ErrUndecided) {
					t.Fatal(why)
				}
				undecided++
			}
		}
		if undecided == 0 || undecided == users {
			t.Errorf("%d of %d watches end", undecided, users)
		}
	})
}

// TestReviewsAreSpread checks that a round does not begin all reviews at once.
func TestReviewsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newJudged()
		for i := range someUsers {
			s.open(t, user(i), "a")
		}
		s.judge.set(func() { s.judge.asked = nil })
		s.run(t)
		<-time.After(expiryEvery + reviewSpread/2)
		s.judge.set(func() {
			if n := len(s.judge.asked); n < someUsers/3 || n > someUsers*2/3 {
				t.Errorf("%d of %d reviews in half of the time", n, someUsers)
			}
		})
		<-time.After(reviewSpread / 2)
		s.judge.set(func() {
			if n := len(s.judge.asked); n != someUsers {
				t.Errorf("%d of %d reviews in a round", n, someUsers)
			}
			for who := range s.judge.asked {
				if !strings.HasPrefix(who, "user") {
					t.Errorf("a review of %s", who)
				}
			}
		})
	})
}
