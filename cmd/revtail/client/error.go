package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StatusError is a response with another status than 2xx.
type StatusError struct {
	Code       int                 // of HTTP
	Reason     metav1.StatusReason // empty: the response is no Status
	Message    string
	Causes     []metav1.StatusCause // of a Status: the fields that it is about
	RetryAfter time.Duration

	foreign bool // the response is neither a Status nor a problem: it may be of another program
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

// IsPermanent reports whether a retry of the request would fail with the same error.
func IsPermanent(err error) bool {
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

// newStatusError reads a response with another status than 2xx.
func newStatusError(resp *http.Response) (*StatusError, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return nil, err
	}
	out := &StatusError{Code: resp.StatusCode}
	if out.foreign = !out.readStatus(body) && !out.readProblem(body); out.foreign {
		out.Message = resp.Status
		// An HTML page says no more than the HTTP status.
		if text := strings.TrimSpace(string(body)); text != "" && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
			out.Message += ": " + text[:min(len(text), maxText)]
		}
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		out.RetryAfter = time.Duration(min(seconds, 60)) * time.Second
	}
	return out, nil
}

// readStatus reads an error of the Kubernetes API.
func (e *StatusError) readStatus(body []byte) bool {
	var status metav1.Status
	if json.Unmarshal(body, &status) != nil || status.Kind != "Status" {
		return false
	}
	e.Reason, e.Message = status.Reason, status.Message
	if status.Details != nil {
		e.Causes = status.Details.Causes
	}
	return true
}

// readProblem reads an error of the keys API (RFC 9457).
func (e *StatusError) readProblem(body []byte) bool {
	var problem struct {
		Title, Detail string
		Open          []string // keys that the caller may read
	}
	if json.Unmarshal(body, &problem) != nil || problem.Detail == "" {
		return false
	}
	e.Reason, e.Message = metav1.StatusReason(problem.Title), problem.Detail
	if len(problem.Open) > 0 {
		e.Message += "; open are " + strings.Join(problem.Open, ", ")
	}
	return true
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
	if unconnected := (*net.OpError)(nil); errors.As(err, &unconnected) && unconnected.Op == "dial" {
		return &dialError{fmt.Sprintf("%s %s: no gateway answers there, 'revtail serve' starts one: %s", c.flag, to.text(), reasonOf(unconnected)), err}
	}
	return fmt.Errorf("%s: %w", to.name(), err)
}

// dialError reports that no connection could be made.
type dialError struct {
	message string
	cause   error
}

func (e *dialError) Error() string { return e.message }

// Unwrap returns the *net.OpError.
func (e *dialError) Unwrap() error { return e.cause }

// reasonOf returns why there is no connection, without the words that Go puts before it.
func reasonOf(failed *net.OpError) string {
	if number := syscall.Errno(0); errors.As(failed, &number) {
		return number.Error()
	}
	if unknown := (*net.DNSError)(nil); errors.As(failed, &unknown) {
		return unknown.Err
	}
	return failed.Err.Error()
}

// explainStatus returns the error of a response with another status than 2xx. It names the flag that is wrong, if one is.
func (c *Client) explainStatus(ctx context.Context, to *server, r Request, resp *http.Response) error {
	status, err := newStatusError(resp)
	switch {
	case err != nil:
		return err
	case status.Code == http.StatusBadRequest && to.speaksTLS(ctx):
		return c.newTLSError(to)
	case status.foreign && status.Code == http.StatusNotFound && isAPI(r.Path):
		status.Message = fmt.Sprintf("%s %s: %s: what answers there is no gateway of revtail: want its URL, as http://127.0.0.1:8080", c.flag, to.text(), resp.Status)
	case r.Query.Has("filter") && strings.HasPrefix(status.Message, "filter: "): // which ends with the expression
		status.Message = "--" + status.Message
	}
	return status
}

// isAPI reports whether each gateway has the path.
func isAPI(path string) bool {
	return path == "/api" || path == "/apis" || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/apis/") || strings.HasPrefix(path, "/v1/")
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
