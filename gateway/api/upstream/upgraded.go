package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// upgraded is a connection to the kube-apiserver whose protocol was switched. What arrives after the end of ctx is not read: a kube-apiserver ends a command
// whose stdin ends, so the last bytes would tell the client that the command has succeeded.
type upgraded struct {
	io.ReadWriteCloser
	ctx context.Context // of the request
}

// keepUpgraded lets the connection of an answer with the code 101 end with its request.
func keepUpgraded(answer *http.Response) {
	if conn, ok := answer.Body.(io.ReadWriteCloser); ok {
		answer.Body = &upgraded{conn, answer.Request.Context()}
	}
}

// Read implements io.Reader.
func (u *upgraded) Read(into []byte) (int, error) {
	n, err := u.ReadWriteCloser.Read(into)
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return n, err
}

// CloseWrite tells the kube-apiserver that the client sends no more.
func (u *upgraded) CloseWrite() error {
	if conn, ok := u.ReadWriteCloser.(interface{ CloseWrite() error }); ok {
		return conn.CloseWrite()
	}
	return errors.ErrUnsupported
}
