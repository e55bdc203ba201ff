package command

import "errors"

// Exit codes. Scripts rely on them.
const (
	ExitOK          = 0
	ExitFailure     = 1
	ExitUsage       = 2 // the command line or the configuration is wrong
	ExitUnreachable = 3 // etcd did not answer within --startup-timeout
)

// ExitError is an error with the exit code of the process.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap lets errors.Is and errors.As see the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// UsageError is an ExitError with ExitUsage.
func UsageError(err error) error { return &ExitError{ExitUsage, err} }

// withExitCode makes an error without an exit code an ExitError with the code. It returns nil for nil.
func withExitCode(code int, err error) error {
	if failure := (*ExitError)(nil); err == nil || errors.As(err, &failure) {
		return err
	}
	return &ExitError{code, err}
}
