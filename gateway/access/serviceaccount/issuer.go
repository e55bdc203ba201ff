package serviceaccount

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/cache"
	kubernetes "k8s.io/apiserver/pkg/authentication/serviceaccount"

	"revtail/gateway/config/reload"
)

// Config configures an Issuer.
type Config struct {
	Issuers       []string            // as tokens name them: the first one in new tokens, all are accepted; required
	Audiences     []string            // of the gateway: tokens for it have one of them; required
	MaxExpiration time.Duration       // of new tokens; zero: 2^32 seconds
	Keys          *reload.File[*Keys] // required
}

// Objects reads the objects that tokens are bound to.
type Objects interface {
	// Find returns the document of an object of the core group and its revision; nil: it does not exist. Unless fresh, it may be some
	// milliseconds old, and nil also means that it is not known.
	Find(ctx context.Context, plural, namespace, name string, fresh bool) (document []byte, revision int64, err error)
}

// Issuer issues and verifies the tokens of service accounts. It is safe for concurrent use.
type Issuer struct {
	Config
	objects  Objects               // nil before Open
	verified *cache.LRUExpireCache // *token by the digest of its text and of the generation of the keys
	states   *cache.LRUExpireCache // state by place
}

// maxCached limits the cached tokens and the cached objects.
const maxCached = 4096

// New returns an Issuer, which refuses every token until Open.
func New(config Config) *Issuer {
	return &Issuer{Config: config, verified: cache.NewLRUExpireCache(maxCached), states: cache.NewLRUExpireCache(maxCached)}
}

// Open sets where the objects are that tokens are bound to. It is called once, before the first token is verified.
func (i *Issuer) Open(objects Objects) { i.objects = objects }

// Generation returns a number that changes with the keys.
func (i *Issuer) Generation() uint64 { return i.Keys.Generation() }

// CanSign reports whether the Issuer has a key to sign tokens.
func (i *Issuer) CanSign() bool { return i.Keys.Get().signer != nil }

// Grant says what a new token is for.
type Grant struct {
	Namespace      string
	ServiceAccount Reference
	Pod            *Reference // at most one of the three, and the node of a Pod
	Secret         *Reference
	Node           *Reference
	Audiences      []string // empty: those of the Issuer
	Begin, End     time.Time
}

// Issue signs a token. It checks nothing. CanSign must be true.
func (i *Issuer) Issue(g Grant) (string, error) {
	keys := i.Keys.Get()
	if keys.signer == nil {
		return "", errors.New("there is no key to sign")
	}
	return jwt.Signed(keys.signer).Claims(struct {
		claims
		Audience []string `json:"aud"` // always a list, as Kubernetes writes it
	}{claims{
		Claims: jwt.Claims{
			ID: uuid.NewString(), Issuer: i.Issuers[0], Subject: kubernetes.MakeUsername(g.Namespace, g.ServiceAccount.Name),
			IssuedAt: jwt.NewNumericDate(g.Begin), NotBefore: jwt.NewNumericDate(g.Begin), Expiry: jwt.NewNumericDate(g.End),
		},
		Kubernetes: bound{Namespace: g.Namespace, ServiceAccount: g.ServiceAccount, Pod: g.Pod, Secret: g.Secret, Node: g.Node},
	}, g.Audiences}).Serialize()
}

// Issued reports whether a text is a token that names one of the issuers, which an attacker can write too.
func (i *Issuer) Issued(text string) bool {
	parsed, err := jwt.ParseSigned(text, algorithms)
	var unverified jwt.Claims
	return err == nil && parsed.UnsafeClaimsWithoutVerification(&unverified) == nil && slices.Contains(i.Issuers, cmp.Or(unverified.Issuer, "-"))
}
