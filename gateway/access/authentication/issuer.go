package authentication

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

const (
	// tokenTrust is how long a valid token is cached, tokenDistrust how long an invalid one is.
	tokenTrust    = time.Minute
	tokenDistrust = 5 * time.Second
)

// IssuerConfig names an issuer, and the claims of its tokens that are the user and the groups.
type IssuerConfig struct {
	URL      string // of the issuer, as its tokens name it
	Audience string // of the tokens

	UserClaim    string // empty: sub
	UserPrefix   string // before the names of users
	GroupsClaim  string // empty: users have no groups
	GroupsPrefix string // before the names of groups

	Client *http.Client // nil: with the authorities of the system
}

// Issuer verifies the tokens of one OpenID Connect issuer. It refuses all of them until Run has fetched the keys.
type Issuer struct {
	config   IssuerConfig
	keys     *keys
	verifier *oidc.IDTokenVerifier
	tokens   outcomes
}

// NewIssuer returns an Issuer. It sends no requests yet.
func NewIssuer(config IssuerConfig, logger *slog.Logger) *Issuer {
	config.UserClaim = cmp.Or(config.UserClaim, "sub")
	keys := newKeys(config.URL, config.Client, logger)
	return &Issuer{config: config, keys: keys, tokens: newOutcomes(), verifier: oidc.NewVerifier(config.URL, keys, &oidc.Config{
		ClientID: config.Audience, SupportedSigningAlgs: algorithmNames(),
	})}
}

// Run fetches the keys of the issuer periodically until ctx ends.
func (i *Issuer) Run(ctx context.Context) error { return i.keys.run(ctx) }

func (i *Issuer) authenticate(ctx context.Context, token string) (*Identity, error) {
	digest := sha256.Sum256([]byte(token))
	if known, ok := i.tokens.get(digest); ok {
		return known.identity, known.err
	}
	identity, err := i.check(ctx, token)
	trust := tokenTrust
	if err != nil {
		trust = tokenDistrust
	}
	if ctx.Err() == nil {
		i.tokens.Add(digest, outcome{identity, err}, trust)
	}
	return identity, err
}

func (i *Issuer) check(ctx context.Context, token string) (*Identity, error) {
	verified, err := i.verifier.Verify(ctx, token)
	if err != nil {
		return nil, err
	}
	claims := map[string]any{}
	if err = verified.Claims(&claims); err != nil {
		return nil, err
	}
	user, err := i.user(claims)
	if err != nil {
		return nil, err
	}
	identity, err := known(user, "", i.groups(claims), verified.Expiry)
	if err == nil && strings.HasPrefix(identity.Name, reserved) {
		err = errors.New("a name that begins with " + reserved + " cannot come from an issuer")
	}
	return identity, err
}

func (i *Issuer) user(claims map[string]any) (string, error) {
	name, ok := claims[i.config.UserClaim].(string)
	if !ok || name == "" {
		return "", fmt.Errorf("the claim %s is not a text", i.config.UserClaim)
	}
	if verified, told := claims["email_verified"]; i.config.UserClaim == "email" && told && verified != true {
		return "", errors.New("the email is not verified")
	}
	return i.config.UserPrefix + name, nil
}

// groups returns the groups of a token. It drops those that begin with system:, which no issuer may grant.
func (i *Issuer) groups(claims map[string]any) []string {
	var named []any
	switch claim := claims[i.config.GroupsClaim].(type) {
	case string:
		named = []any{claim}
	case []any:
		named = claim
	}
	var groups []string
	for _, name := range named {
		if text, ok := name.(string); ok {
			if group := i.config.GroupsPrefix + text; !strings.HasPrefix(group, reserved) && checkName(group) == nil {
				groups = append(groups, group)
			}
		}
	}
	return groups
}
