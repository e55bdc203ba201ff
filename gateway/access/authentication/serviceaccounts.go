package authentication

import "context"

// ServiceAccounts verify the tokens of service accounts.
type ServiceAccounts interface {
	// Issued reports whether a token says that it is one of theirs. Other verifiers do not see such a token.
	Issued(token string) bool
	// Authenticate returns the user of a token that has one of the audiences (none: of the gateway's), and the common ones. The error is a
	// *TokenError.
	Authenticate(ctx context.Context, token string, audiences []string) (*Identity, []string, error)
	// Generation changes when the keys have changed.
	Generation() uint64
}

// TokenError says why a token is refused. It is for those who may review tokens, and not for those who show them.
type TokenError struct{ Reason error }

func (e *TokenError) Error() string { return e.Reason.Error() }

// Unwrap returns ErrRefused.
func (e *TokenError) Unwrap() error { return ErrRefused }
