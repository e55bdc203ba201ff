package gatewaytest_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"revtail/gateway/gatewaytest"
)

// kubelet is a stand-in for the kubelet of a node. It speaks the protocols of one, by the packages that container runtimes use. Commands run on
// this machine, in a folder, and every port of a Pod is that of one server.
type kubelet struct {
	port    int           // on loopback
	folder  string        // where commands run
	proceed chan struct{} // each value ends one log that is followed

	backend string // the address of the server in the Pod
}

// streamTimeout limits how long a stream may be idle, and how long a client may take to create it.
const streamTimeout = 30 * time.Second

// startKubelet starts a kubelet over TLS.
func startKubelet(t *testing.T) *kubelet {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, io.MultiReader(strings.NewReader(r.URL.Path+"\n"), r.Body)) // the client sees a cut
	}))
	t.Cleanup(web.Close)
	k := &kubelet{folder: t.TempDir(), proceed: make(chan struct{}), backend: web.Listener.Addr().String()}
	routes := http.NewServeMux()
	routes.HandleFunc("/exec/a/web/{container}", k.exec)
	routes.HandleFunc("/attach/a/web/{container}", k.attach)
	routes.HandleFunc("/portForward/a/web", k.forward)
	routes.HandleFunc("/containerLogs/a/web/{container}", k.logs)
	server := httptest.NewUnstartedServer(routes)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{gatewaytest.NewAuthority(t, "kubelets").Issue(t, "localhost").TLS(t)}}
	server.StartTLS()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if k.port, err = strconv.Atoi(at.Port()); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *kubelet) exec(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, k, "web", "", r.PathValue("container"), r.URL.Query()["command"], options, streamTimeout, streamTimeout, remotecommand.SupportedStreamingProtocols)
}

func (k *kubelet) attach(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeAttach(w, r, k, "web", "", r.PathValue("container"), options, streamTimeout, streamTimeout, remotecommand.SupportedStreamingProtocols)
}

func (k *kubelet) forward(w http.ResponseWriter, r *http.Request) {
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, k, "web", "", options, streamTimeout, streamTimeout, portforward.SupportedProtocols)
}

// logs writes two lines. If they are followed, the second comes when the test allows it.
func (k *kubelet) logs(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "first\n") // the client sees a cut
	if r.URL.Query().Get("follow") == "true" {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-k.proceed:
		case <-r.Context().Done():
			return
		}
	}
	_, _ = io.WriteString(w, "second\n")
}

// ExecInContainer implements remotecommand.Executor. With a terminal it prints the sizes of the terminal, and ends after the second one.
func (k *kubelet) ExecInContainer(ctx context.Context, _, _, _ string, command []string, in io.Reader, out, errs io.WriteCloser, tty bool,
	resize <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	if tty {
		for range 2 {
			select {
			case size := <-resize:
				_, _ = fmt.Fprintf(out, "%dx%d\r\n", size.Width, size.Height) // the client sees a cut
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}
	process := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the commands are those of the tests
	process.Dir, process.Stdout, process.Stderr = k.folder, out, errs
	if in != nil {
		stdin, err := process.StdinPipe()
		if err != nil {
			return err
		}
		go func() { _, _ = io.Copy(stdin, in); _ = stdin.Close() }() // the process may end before its input
	}
	err := process.Run()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return utilexec.CodeExitError{Err: err, Code: ended.ExitCode()}
	}
	return err
}

// AttachContainer implements remotecommand.Attacher: the container greets, and returns its input.
func (k *kubelet) AttachContainer(_ context.Context, _, _, _ string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	_, _ = io.WriteString(out, "attached\n") // the client sees a cut
	if in == nil {
		return nil
	}
	_, err := io.Copy(out, in)
	return err
}

// PortForward implements portforward.PortForwarder.
func (k *kubelet) PortForward(ctx context.Context, _, _ string, _ int32, stream io.ReadWriteCloser) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", k.backend)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // everything has been copied
	ended := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(conn, stream); ended <- struct{}{} }()
	go func() { _, _ = io.Copy(stream, conn); ended <- struct{}{} }()
	<-ended
	return nil
}
