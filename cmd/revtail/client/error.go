package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StatusError is a response with another status than 200.
type StatusError struct {
	Code       int // of HTTP
	Message    string
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%d %s", e.Code, http.StatusText(e.Code))
	}
	return e.Message
}

// HasCode reports whether an error is a StatusError with the code.
func HasCode(err error, code int) bool {
	status := (*StatusError)(nil)
	return errors.As(err, &status) && status.Code == code
}

// isPermanent reports whether a retry of the request would fail with the same error.
func isPermanent(err error) bool {
	status := (*StatusError)(nil)
	return errors.As(err, &status) && status.Code < 500 && status.Code != http.StatusTooManyRequests && status.Code != http.StatusGone
}

// retryAfter is the delay that a StatusError asks for.
func retryAfter(err error) time.Duration {
	if status := (*StatusError)(nil); errors.As(err, &status) {
		return status.RetryAfter
	}
	return 0
}

// newStatusError reads a response with another status than 200.
func newStatusError(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return err
	}
	out := &StatusError{Code: resp.StatusCode}
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" {
		out.Message = status.Message
	} else {
		out.Message = resp.Status
		// An HTML page says no more than the HTTP status.
		if text := strings.TrimSpace(string(body)); text != "" && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
			out.Message += ": " + text[:min(len(text), maxText)]
		}
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		out.RetryAfter = time.Duration(min(seconds, 60)) * time.Second
	}
	return out
}

// maxText is how many bytes of a body that is no Status are in a message.
const maxText = 500

// explainFailure describes why a request got no response. It removes the URL, because its query is long.
func (c *Client) explainFailure(ctx context.Context, to *server, err error) error {
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	switch {
	case errors.Is(err, http.ErrSchemeMismatch):
		return &schemeError{to.name() + " speaks plain HTTP: write http:// in " + c.flag}
	case to.speaksTLS(ctx):
		return c.newTLSError(to)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s closes the connection instead of answering: check that an HTTP server listens there, and that a proxy in front of it reaches one (%w)", to.name(), err)
	}
	return fmt.Errorf("%s: %w", to.name(), err)
}

func (c *Client) newTLSError(to *server) error {
	return &schemeError{to.name() + " speaks TLS: write https:// in " + c.flag}
}

// schemeError reports a URL with http:// instead of https://, or the reverse.
type schemeError struct{ message string }

func (e *schemeError) Error() string { return e.message }

// IsSchemeError reports whether an error says which scheme --server should have.
func IsSchemeError(err error) bool {
	wrong := (*schemeError)(nil)
	return errors.As(err, &wrong)
}
