package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
)

// TestUpgradedEnds checks that nothing of an upgraded connection is read after the end of its request, and that a half of it can be closed.
func TestUpgradedEnds(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	t.Cleanup(func() { _ = far.Close() }) // it is near's
	ctx, cancel := context.WithCancelCause(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer := &http.Response{Body: near, Request: request}
	keepUpgraded(answer)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for _, text := range []string{"before", "after"} {
			_, _ = io.WriteString(far, text) // the reader sees what is missing
		}
	}()
	buffer := make([]byte, 64)
	if n, err := answer.Body.Read(buffer); err != nil || string(buffer[:n]) != "before" {
		t.Errorf("%q %v", buffer[:n], err)
	}
	cancel(errDraining)
	if n, err := answer.Body.Read(buffer); n != 0 || !errors.Is(err, errDraining) {
		t.Errorf("%q %v", buffer[:n], err)
	}
	<-sent
	if err := answer.Body.(interface{ CloseWrite() error }).CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("half of a pipe is closed: %v", err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
}
