package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The errors of a store. Errors wrap one of these, with the key; use errors.Is.
var (
	ErrNotFound    = errors.New("key not found")
	ErrExists      = errors.New("key already exists")
	ErrConflict    = errors.New("key was modified by another writer")
	ErrTooLarge    = errors.New("value is larger than etcd accepts in one request")
	ErrUnavailable = errors.New("etcd cannot be reached or has no leader")
	ErrDenied      = errors.New("etcd refuses this gateway's credentials")
	ErrClosed      = errors.New("closed")

	// ErrStorageFull means that the quota of etcd is used up, or with a *NoRoomError its disk. Such a write was usually not executed, except
	// perhaps the one that fills the quota.
	ErrStorageFull = errors.New("etcd is out of space: its quota is used up")

	// ErrUnknownOutcome is the error of a write without a response: etcd may have executed it, or may still do so.
	ErrUnknownOutcome = errors.New("the outcome of the write is unknown")

	// ErrInvalid is an error of the caller: an empty key or prefix, a negative revision, an update without a revision.
	ErrInvalid = errors.New("invalid request to the store")
)

// ConflictError is an ErrConflict with the current state of the key, so that the next attempt need not read it.
type ConflictError struct{ KV KV }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: it is at revision %d", ErrConflict, e.KV.Modified)
}

func (e *ConflictError) Unwrap() error { return ErrConflict }

// NoRoomError is an ErrStorageFull of an etcd in this process, whose disk has no room. The write was not executed.
type NoRoomError struct{ Reason string }

func (e *NoRoomError) Error() string { return "the disk of etcd has no room: " + e.Reason }

func (e *NoRoomError) Unwrap() error { return ErrStorageFull }

// CompactedError is the error for a revision before Compacted, which can neither be read nor watched.
type CompactedError struct {
	Requested Revision
	Compacted Revision // the oldest readable revision; zero: unknown
}

func (e *CompactedError) Error() string {
	if e.Compacted == 0 {
		return fmt.Sprintf("revision %d has been compacted", e.Requested)
	}
	return fmt.Sprintf("revision %d has been compacted (the oldest is %d)", e.Requested, e.Compacted)
}

// FutureError is the error for a revision that the store has not reached.
type FutureError struct {
	Requested Revision
	Current   Revision // zero: unknown
}

func (e *FutureError) Error() string {
	if e.Current == 0 {
		return fmt.Sprintf("revision %d is not reached yet", e.Requested)
	}
	return fmt.Sprintf("revision %d is not reached yet (the newest is %d)", e.Requested, e.Current)
}

// UnreadableError says why a value cannot be decrypted: no provider has its key, or it was changed. Others of the same store can be read.
type UnreadableError struct {
	Key    string
	Reason string
	Err    error // of a store that shows values in another form: why this one has none; nil: the value cannot be decrypted
}

func (e *UnreadableError) Unwrap() error { return e.Err }

func (e *UnreadableError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("the value of the key %q cannot be decrypted: %s", e.Key, e.Reason)
}

// EncryptionError is an ErrUnavailable: the plugin that has the key for a value does not answer. A write was not executed.
type EncryptionError struct {
	Key string
	Err error
}

func (e *EncryptionError) Error() string {
	return fmt.Sprintf("the value of the key %q cannot be encrypted or decrypted at present: %v", e.Key, e.Err)
}

func (e *EncryptionError) Unwrap() []error { return []error{ErrUnavailable, e.Err} }

// toError translates the error of a request; no other function reads the codes of etcd and gRPC. ctx is the context of the caller,
// without the timeout of this package; at is the requested revision, if any; sent means that err belongs to a write that may have
// left the process.
func toError(ctx context.Context, err error, at Revision, sent bool) error {
	code, text := statusOf(err)
	if refused := refusal(code, text, at); refused != nil {
		return refused
	}
	ended := ctx.Err()
	switch {
	case ended != nil && sent:
		return fmt.Errorf("%w: %w: %s", ErrUnknownOutcome, ended, text)
	case ended != nil:
		return fmt.Errorf("%w: %s", ended, text)
	case sent:
		return fmt.Errorf("%w: %s", ErrUnknownOutcome, text)
	}
	return fmt.Errorf("%w: %s", ErrUnavailable, text)
}

// statusOf returns the code and the message of an error of the client. The reason of a cancelled watch has no code but the message of
// an error of etcd, sometimes after a prefix of gRPC, so that the message determines the code.
func statusOf(err error) (codes.Code, string) {
	var known rpctypes.EtcdError
	if errors.As(rpctypes.Error(err), &known) {
		return known.Code(), known.Error()
	}
	st := status.Convert(err)
	if _, reason, ok := strings.Cut(st.Message(), " desc = "); ok && errors.As(rpctypes.Error(errors.New(reason)), &known) {
		return known.Code(), known.Error()
	}
	return st.Code(), plain(st.Message())
}

// wrappings are the texts of gRPC around the error of a connection.
var wrappings = regexp.MustCompile(`^.*connection error: desc = "(?:transport: )?(?:Error while dialing: )?(.*)"$`)

// plain returns the message of gRPC about a failed connection without its wrappings.
func plain(message string) string {
	if match := wrappings.FindStringSubmatch(message); match != nil {
		return strings.ReplaceAll(match[1], `\"`, `"`)
	}
	return message
}

// dialing is the part of an error of the network before its cause.
var dialing = regexp.MustCompile(`^dial \S+ \S+: (?:connect: )?`)

// Reason returns why a request failed, in the words of etcd or of the network, for a message that names the endpoint.
func Reason(err error) string {
	text := err.Error()
	for _, known := range []error{ErrUnavailable, ErrDenied} {
		text = strings.TrimPrefix(text, known.Error()+": ")
	}
	if errors.Is(err, context.DeadlineExceeded) || text == context.DeadlineExceeded.Error() {
		return "no answer in time"
	}
	return dialing.ReplaceAllString(text, "")
}

// refusal returns the error if etcd or gRPC did not execute the request (except ErrStorageFull, see there), and nil if etcd may have
// executed it.
func refusal(code codes.Code, text string, at Revision) error {
	is := func(err error) bool { return text == err.Error() }
	switch {
	case is(rpctypes.ErrCompacted):
		return &CompactedError{Requested: at}
	case is(rpctypes.ErrFutureRev):
		return &FutureError{Requested: at}
	case is(rpctypes.ErrNoSpace):
		return fmt.Errorf("%w: %s", ErrStorageFull, text)
	case code == codes.ResourceExhausted && strings.HasPrefix(text, rpctypes.ErrNoSpace.Error()+": "): // of package embedded
		return &NoRoomError{strings.TrimPrefix(text, rpctypes.ErrNoSpace.Error()+": ")}
	case is(rpctypes.ErrRequestTooLarge), code == codes.ResourceExhausted && strings.Contains(text, "larger than max"):
		return fmt.Errorf("%w: %s", ErrTooLarge, text)
	case is(rpctypes.ErrAuthFailed), is(rpctypes.ErrUserEmpty), is(rpctypes.ErrAuthOldRevision),
		code == codes.PermissionDenied, code == codes.Unauthenticated:
		return fmt.Errorf("%w: %s", ErrDenied, text)
	case is(rpctypes.ErrNoLeader), is(rpctypes.ErrTooManyRequests), is(rpctypes.ErrCorrupt), code == codes.FailedPrecondition,
		code == codes.Unimplemented:
		return fmt.Errorf("%w: %s", ErrUnavailable, text)
	case code == codes.InvalidArgument:
		return fmt.Errorf("%w: %s", ErrInvalid, text)
	default:
		return nil
	}
}

// check refuses an empty key or prefix, which etcd takes for all keys.
func check(what, text string) error {
	if text == "" {
		return fmt.Errorf("%w: the %s must not be empty", ErrInvalid, what)
	}
	return nil
}
