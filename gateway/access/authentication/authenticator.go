package authentication

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"revtail/gateway/config/reload"
)

// ErrRefused is the error of Authenticate for a request without a valid credential. It has no details, because an attacker could learn
// from them.
var ErrRefused = errors.New("Unauthorized")

// Authorities verify the certificates of clients.
type Authorities interface {
	VerifyClient(chain []*x509.Certificate) error
	Generation() uint64 // changes when the result of VerifyClient may change
}

// Sources verify credentials. A nil source accepts none.
type Sources struct {
	Reviewer        Reviewer // of all tokens; nil: the sources below verify them
	Authorities     Authorities
	Tokens          *reload.File[*Tokens]
	Issuer          *Issuer
	ServiceAccounts ServiceAccounts
	Audiences       []string // of the gateway, which all tokens but those of service accounts have
	Anonymous       bool     // accept requests without a credential
}

// Authenticator finds the user of a request. It is safe for concurrent use.
type Authenticator struct {
	Sources
	Tickets      Tickets
	certificates outcomes
}

// New returns an Authenticator. Without sources and Anonymous it refuses every request.
func New(sources Sources) *Authenticator {
	return &Authenticator{Sources: sources, certificates: newOutcomes()}
}

// Generation returns a number that changes when the credentials of open streams may have become invalid.
func (a *Authenticator) Generation() (n uint64) {
	if a.Authorities != nil {
		n += a.Authorities.Generation()
	}
	if a.Tokens != nil {
		n += a.Tokens.Generation()
	}
	if a.ServiceAccounts != nil {
		n += a.ServiceAccounts.Generation()
	}
	return n
}

// Authenticate returns the user of a request, or ErrRefused. A certificate comes before a token, as in Kubernetes. A ticket is valid
// once.
func (a *Authenticator) Authenticate(r *http.Request) (*Identity, error) {
	shown := false
	if a.presentsCertificate(r) {
		shown = true
		if identity, err := a.byCertificate(r.TLS.PeerCertificates); err == nil {
			return identity, nil
		}
	}
	if ticket, ok := TicketOf(r); ok {
		return a.Tickets.use(ticket, r, time.Now())
	}
	if token, ok := bearer(r); ok && a.verifiesTokens() {
		shown = true
		if identity, _, err := a.AuthenticateToken(r.Context(), token, nil); err == nil || errors.Is(err, ErrUnavailable) {
			return identity, err
		}
	}
	if a.Anonymous && !shown {
		return Anonymous(), nil
	}
	return nil, ErrRefused
}

func (a *Authenticator) verifiesTokens() bool {
	return a.Reviewer != nil || a.Tokens != nil || a.Issuer != nil || a.ServiceAccounts != nil
}

// maxToken limits the size of a token, in bytes, before it is parsed.
const maxToken = 8 << 10

// AuthenticateToken returns the user of a token that has one of the audiences (none: of the gateway's), and the common ones. The error is a
// *TokenError, ErrRefused or ErrUnavailable.
func (a *Authenticator) AuthenticateToken(ctx context.Context, token string, audiences []string) (*Identity, []string, error) {
	if a.Reviewer != nil {
		identity, err := a.review(ctx, token)
		return identity, audiences, err
	}
	if len(token) > maxToken {
		return nil, nil, ErrRefused
	}
	if a.ServiceAccounts != nil && a.ServiceAccounts.Issued(token) {
		return a.ServiceAccounts.Authenticate(ctx, token, audiences)
	}
	common := a.Audiences
	if len(audiences) > 0 {
		common = slices.DeleteFunc(slices.Clone(audiences), func(wanted string) bool { return !slices.Contains(a.Audiences, wanted) })
		if len(common) == 0 {
			return nil, nil, ErrRefused
		}
	}
	identity, err := a.byToken(ctx, token)
	if err != nil {
		return nil, nil, ErrRefused
	}
	return identity, common, nil
}

func (a *Authenticator) byToken(ctx context.Context, token string) (*Identity, error) {
	if a.Tokens != nil {
		if found, ok := a.Tokens.Get().find(token, time.Now()); ok {
			identity := *found.identity
			identity.still = func() bool { return a.Tokens.Get().has(found) }
			return &identity, nil
		}
	}
	if a.Issuer != nil && strings.Count(token, ".") == 2 {
		return a.Issuer.authenticate(ctx, token)
	}
	return nil, ErrRefused
}

// bearerProtocol is the prefix of the subprotocol in which browsers send the token of a WebSocket, because they cannot set a header.
const bearerProtocol = "base64url.bearer.authorization.k8s.io."

// bearer returns the token of a request; empty: a malformed one. False: the request has none.
func bearer(r *http.Request) (string, bool) {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(strings.TrimSpace(header), " ")
		if token = strings.TrimSpace(token); strings.EqualFold(scheme, "Bearer") && token != "" {
			return token, true
		}
	}
	if !httpguts.HeaderValuesContainsToken(r.Header["Upgrade"], "websocket") {
		return "", false
	}
	for _, header := range r.Header["Sec-Websocket-Protocol"] {
		for protocol := range strings.SplitSeq(header, ",") {
			if encoded, ok := strings.CutPrefix(strings.TrimSpace(protocol), bearerProtocol); ok {
				token, err := base64.RawURLEncoding.DecodeString(encoded)
				if err != nil || !utf8.Valid(token) {
					return "", true // refused, because a malformed credential is not none
				}
				return string(token), true
			}
		}
	}
	return "", false
}

// certificateTrust is how long the result of a verification is cached while the authorities do not change.
const certificateTrust = time.Minute

// byCertificate returns the user of a certificate as Kubernetes does: the common name is the user name, the organizations are the groups.
// The handshake has verified that the client has the key, but the authorities may have changed since.
func (a *Authenticator) byCertificate(chain []*x509.Certificate) (*Identity, error) {
	generation := a.Authorities.Generation()
	key := sha256.Sum256(binary.BigEndian.AppendUint64(chain[0].Raw, generation))
	if known, ok := a.certificates.get(key); ok {
		return known.identity, known.err
	}
	identity, err := a.checkCertificate(chain)
	a.certificates.Add(key, outcome{identity, err}, certificateTrust)
	return identity, err
}

func (a *Authenticator) checkCertificate(chain []*x509.Certificate) (*Identity, error) {
	if err := a.Authorities.VerifyClient(chain); err != nil {
		return nil, err
	}
	leaf := chain[0]
	identity, err := known(leaf.Subject.CommonName, "", leaf.Subject.Organization, leaf.NotAfter)
	if err != nil {
		return nil, err
	}
	if a.Reviewer != nil {
		identity.Extra = credentialOf(leaf) // the other server gives it to its own users with certificates
	}
	identity.still = func() bool {
		again, err := a.byCertificate(chain)
		return err == nil && again != nil
	}
	return identity, nil
}
