package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// explain says in words why there was no answer. What is not understood stays as it is, without the query.
func explain(ctx context.Context, server *url.URL, err error) error {
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	switch {
	case errors.Is(err, http.ErrSchemeMismatch):
		return &schemeError{server.Host + " speaks plain HTTP: write http:// in --server"}
	case wantsTLS(ctx, server):
		return errWantsTLS(server)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s closes the connection instead of answering: is there an HTTP server, and does a proxy before it find one? (%w)", server.Host, err)
	}
	return fmt.Errorf("%s: %w", server.Host, err)
}

func errWantsTLS(server *url.URL) error {
	return &schemeError{server.Host + " speaks TLS: write https:// in --server"}
}

// schemeError is about an http:// that should be https://, or the other way round.
type schemeError struct{ message string }

func (e *schemeError) Error() string { return e.message }

// WrongScheme tells whether an error says all that is to be said: which scheme --server should have.
func WrongScheme(err error) bool {
	wrong := (*schemeError)(nil)
	return errors.As(err, &wrong)
}

// tlsPatience is for a handshake that only tells whether there is one.
const tlsPatience = 2 * time.Second

// wantsTLS tells whether a server that was asked without TLS speaks it. It trusts anybody, and tells nobody anything.
func wantsTLS(ctx context.Context, server *url.URL) bool {
	if server.Scheme != "http" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, tlsPatience)
	defer cancel()
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", server.Host) //nolint:gosec // nothing is sent
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
