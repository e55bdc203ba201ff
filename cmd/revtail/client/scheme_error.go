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

// explainFailure describes why a request got no response. It removes the URL, because its query is long.
func explainFailure(ctx context.Context, server *url.URL, err error) error {
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	switch {
	case errors.Is(err, http.ErrSchemeMismatch):
		return &schemeError{server.Host + " speaks plain HTTP: write http:// in --server"}
	case speaksTLS(ctx, server):
		return newTLSError(server)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s closes the connection instead of answering: is there an HTTP server, and does a proxy before it find one? (%w)", server.Host, err)
	}
	return fmt.Errorf("%s: %w", server.Host, err)
}

func newTLSError(server *url.URL) error {
	return &schemeError{server.Host + " speaks TLS: write https:// in --server"}
}

// schemeError reports a URL with http:// instead of https://, or the reverse.
type schemeError struct{ message string }

func (e *schemeError) Error() string { return e.message }

// IsSchemeError reports whether an error says which scheme --server should have.
func IsSchemeError(err error) bool {
	wrong := (*schemeError)(nil)
	return errors.As(err, &wrong)
}

// tlsProbeTimeout bounds the handshake of speaksTLS.
const tlsProbeTimeout = 2 * time.Second

// speaksTLS reports whether the server of an http:// URL speaks TLS. It accepts any certificate, because it sends no data.
func speaksTLS(ctx context.Context, server *url.URL) bool {
	if server.Scheme != "http" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, tlsProbeTimeout)
	defer cancel()
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", server.Host) //nolint:gosec // nothing is sent
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
