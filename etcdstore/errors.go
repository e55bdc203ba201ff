package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The ways in which a store refuses. Errors wrap one of these, with the key; test with errors.Is.
var (
	ErrNotFound    = errors.New("key not found")
	ErrExists      = errors.New("key already exists")
	ErrConflict    = errors.New("key was modified by somebody else")
	ErrTooLarge    = errors.New("value is larger than etcd accepts in one request")
	ErrUnavailable = errors.New("etcd cannot be reached or has no leader")
	ErrDenied      = errors.New("etcd refuses this gateway's credentials")
	ErrClosed      = errors.New("closed")

	// ErrStorageFull is etcd out of space. A write that ends so was as a rule not done, but the one that fills the last
	// bytes may have been.
	ErrStorageFull = errors.New("etcd is out of space: its quota is used up")

	// ErrUnknownOutcome is a write that was sent and not answered: it may have been done, or be done yet.
	ErrUnknownOutcome = errors.New("the outcome of the write is unknown")

	// ErrInvalid is a mistake of the caller: an empty key or prefix, a negative revision, an update without a want.
	ErrInvalid = errors.New("invalid request to the store")
)

// ConflictError is an ErrConflict that says what stands under the key, so that a next attempt need not read it.
type ConflictError struct{ KV KV }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: it is at revision %d", ErrConflict, e.KV.Modified)
}

func (e *ConflictError) Unwrap() error { return ErrConflict }

// CompactedError says that history is gone: states before Compacted cannot be read, nor changes before it watched.
type CompactedError struct {
	Requested Revision
	Compacted Revision // the oldest revision whose state can be read; zero: not known
}

func (e *CompactedError) Error() string {
	if e.Compacted == 0 {
		return fmt.Sprintf("revision %d has been compacted", e.Requested)
	}
	return fmt.Sprintf("revision %d has been compacted (the oldest is %d)", e.Requested, e.Compacted)
}

// FutureError says that the store has not reached a revision that was asked for.
type FutureError struct {
	Requested Revision
	Current   Revision // zero: not known
}

func (e *FutureError) Error() string {
	if e.Current == 0 {
		return fmt.Sprintf("revision %d is not reached yet", e.Requested)
	}
	return fmt.Sprintf("revision %d is not reached yet (the newest is %d)", e.Requested, e.Current)
}

// toError is the only reader of the codes of etcd and gRPC. ctx is the caller's, without the limit that this package adds
// to it; at is the revision that was asked for, if one was; sent says that err is of a write that may have left the process.
func toError(ctx context.Context, err error, at Revision, sent bool) error {
	code, text := answerOf(err)
	if refused := refusalOf(code, text, at); refused != nil {
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
	default:
		return fmt.Errorf("%w: %s", ErrUnavailable, text)
	}
}

// answerOf takes an error of the client apart. Only errors with one of etcd's own texts keep etcd's code: the reason by
// which a watch is cancelled is such a text, sometimes with gRPC's preamble around it.
func answerOf(err error) (codes.Code, string) {
	var known rpctypes.EtcdError
	if errors.As(rpctypes.Error(err), &known) {
		return known.Code(), known.Error()
	}
	st := status.Convert(err)
	if _, reason, ok := strings.Cut(st.Message(), " desc = "); ok && errors.As(rpctypes.Error(errors.New(reason)), &known) {
		return known.Code(), known.Error()
	}
	return st.Code(), st.Message()
}

// refusalOf is the error for an answer by which etcd, or gRPC before it, says that it did not do what it was asked, and
// nil for all that may yet have been done. ErrStorageFull is the exception: see there.
func refusalOf(code codes.Code, text string, at Revision) error {
	is := func(err error) bool { return text == err.Error() }
	switch {
	case is(rpctypes.ErrCompacted):
		return &CompactedError{Requested: at}
	case is(rpctypes.ErrFutureRev):
		return &FutureError{Requested: at}
	case is(rpctypes.ErrNoSpace):
		return fmt.Errorf("%w: %s", ErrStorageFull, text)
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

func checkKey(key string) error {
	if key == "" {
		return fmt.Errorf("%w: the key must not be empty", ErrInvalid)
	}
	return nil
}

// checkPrefix refuses what etcd would understand as the whole keyspace.
func checkPrefix(prefix string) error {
	if prefix == "" {
		return fmt.Errorf("%w: the prefix must not be empty", ErrInvalid)
	}
	return nil
}
