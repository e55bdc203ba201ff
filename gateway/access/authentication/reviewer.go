package authentication

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/user"
)

// ErrUnavailable is the error of a credential that nobody can verify at this moment.
var ErrUnavailable = errors.New("the credential cannot be verified at this moment")

// Reviewer asks another server who the user of a token is.
type Reviewer interface {
	// ReviewToken returns the user of a token, ErrRefused, or ErrUnavailable if the other server does not answer.
	ReviewToken(ctx context.Context, token string) (*Identity, error)
}

// maxReviewed limits the size of a token, in bytes, that is sent to the other server.
const maxReviewed = 32 << 10

func (a *Authenticator) review(ctx context.Context, token string) (*Identity, error) {
	if token == "" || len(token) > maxReviewed {
		return nil, ErrRefused
	}
	return a.Reviewer.ReviewToken(ctx, token)
}

// credentialOf returns the attribute with which Kubernetes identifies the certificate of a user.
func credentialOf(leaf *x509.Certificate) map[string][]string {
	digest := sha256.Sum256(leaf.Raw)
	return map[string][]string{user.CredentialIDKey: {"X509SHA256=" + hex.EncodeToString(digest[:])}}
}

// Presents reports whether a request has a certificate, a ticket or a token, whether or not it is valid.
func (a *Authenticator) Presents(r *http.Request) bool {
	_, hasTicket := TicketOf(r)
	_, hasToken := bearer(r)
	return hasTicket || hasToken && a.verifiesTokens() || a.presentsCertificate(r)
}

func (a *Authenticator) presentsCertificate(r *http.Request) bool {
	return a.Authorities != nil && r.TLS != nil && len(r.TLS.PeerCertificates) > 0
}

// Identify returns the user of a request that another server answers, and whether a certificate shows it: the other server cannot see that. A
// request without a credential is anonymous, because the other server decides about it. A ticket, which is for this server only, is no credential.
func (a *Authenticator) Identify(r *http.Request) (identity *Identity, byCertificate bool, err error) {
	shown := a.presentsCertificate(r)
	if shown {
		if identity, err := a.byCertificate(r.TLS.PeerCertificates); err == nil {
			return identity, true, nil
		}
	}
	if token, ok := bearer(r); ok && a.verifiesTokens() {
		identity, _, err := a.AuthenticateToken(r.Context(), token, nil)
		return identity, false, err
	}
	if shown {
		return nil, false, ErrRefused
	}
	return Anonymous(), false, nil
}
