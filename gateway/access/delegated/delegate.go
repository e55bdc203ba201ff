package delegated

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"

	"revtail/gateway/access"
	"revtail/gateway/access/authentication"
	"revtail/gateway/http/status"
)

const (
	// MaxStale is how long a decision of the kube-apiserver is used while it does not answer. It is long enough for an upgrade or the failure of a
	// control plane's node, and so short that a revoked right is not usable for hours because the kube-apiserver is down.
	MaxStale = 5 * time.Minute
	// maxKept limits the decisions, and the users of tokens, that are kept for that case: about 10 MB each.
	maxKept = 1 << 15
)

// Delegate decides about requests as a kube-apiserver does. Any goroutine may call its methods.
type Delegate struct {
	clients      func() *Clients
	availability *Availability
	logger       *slog.Logger

	secret []byte                // makes digests that nobody else can make
	users  *cache.LRUExpireCache // of accepted tokens, by their digests: *authentication.Identity
	allows *cache.LRUExpireCache // digests of allowed requests

	asked singleflight.Group // questions about requests in flight, by the digests of the requests, and the probe

	decisions *prometheus.CounterVec
}

var (
	_ access.Delegate         = (*Delegate)(nil)
	_ authentication.Reviewer = (*Delegate)(nil)
)

// New returns a Delegate that asks with the current clients.
func New(clients func() *Clients, availability *Availability, logger *slog.Logger) *Delegate {
	return newDelegate(clients, availability, logger, clock.RealClock{})
}

func newDelegate(clients func() *Clients, availability *Availability, logger *slog.Logger, now cache.Clock) *Delegate {
	d := &Delegate{
		clients: clients, availability: availability, logger: logger, secret: make([]byte, sha256.Size),
		users: cache.NewLRUExpireCacheWithClock(maxKept, now), allows: cache.NewLRUExpireCacheWithClock(maxKept, now),
	}
	d.decisions = newDecisions()
	_, _ = rand.Read(d.secret) // it does not fail
	return d
}

// digest is one of sha256.Size bytes.
type digest [sha256.Size]byte

func (d *Delegate) digest(parts ...any) digest {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(err) // not reached: they are strings and lists of strings
	}
	mac := hmac.New(sha256.New, d.secret)
	mac.Write(text)
	return digest(mac.Sum(nil))
}

// errRights is the Status of a request if the kube-apiserver refuses the questions of this program.
var errRights = status.RetryableError(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
	"the kube-apiserver refuses the TokenReviews or SubjectAccessReviews of this server: bind the ClusterRole system:auth-delegator to its user, "+
		"and check --authentication-kubeconfig", 10)

// check probes the kube-apiserver, and returns an error unless it is ready. Callers at the same time share one probe.
func (d *Delegate) check(clients *Clients) error {
	_, err, _ := d.asked.Do("", func() (any, error) {
		return nil, d.availability.Check(context.Background(), clients) //nolint:forbidigo // the probe has a limit
	})
	return err
}

// failed reports about a question without an answer. unreachable means that an earlier decision may be used.
func (d *Delegate) failed(what string, err error) (unreachable bool) {
	if refused, ok := errors.AsType[*apierrors.StatusError](err); ok {
		if code := refused.ErrStatus.Code; code < http.StatusInternalServerError && code != http.StatusTooManyRequests && code != http.StatusRequestTimeout &&
			d.check(d.clients()) == nil {
			d.logger.Error("the kube-apiserver refuses a question about a request", "question", what, "error", err)
			return false
		}
	}
	d.availability.Suspect()
	return true
}
