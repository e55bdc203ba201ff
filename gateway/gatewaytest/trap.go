package gatewaytest

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Trap is an HTTP server that fails the test when a client connects. Tests of the commands in documents configure its address as that of a
// Kubernetes cluster, an etcd and a container engine, because no command may connect to those of its reader.
type Trap struct {
	// Address is its address.
	Address string
	// Home is the home folder of a reader, with a kubeconfig for the trap.
	Home string

	mu     sync.Mutex // guards the field below
	caught []string
}

// NewTrap starts a trap. It ends with the test.
func NewTrap(tb testing.TB) *Trap {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	t := &Trap{Address: listener.Addr().String(), Home: tb.TempDir()}
	server := &http.Server{ReadHeaderTimeout: Patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.catch(fmt.Sprintf("%s %s", r.Method, r.URL))
		http.Error(w, "a command of a document must not come here", http.StatusTeapot)
	}), ConnState: func(conn net.Conn, state http.ConnState) {
		if state == http.StateNew { // also a client that speaks TLS or gRPC
			t.catch("a connection from " + conn.RemoteAddr().String())
		}
	}}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	tb.Cleanup(func() {
		_ = server.Close() // Serve returns the error
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			tb.Error(err)
		}
		for _, what := range t.Caught() {
			tb.Errorf("a command reached the configured cluster, etcd or engine: %s", what)
		}
	})
	t.Configure(tb, nil)
	return t
}

func (t *Trap) catch(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.caught = append(t.caught, what)
}

// Caught returns the requests that have reached the trap since the last call. They no longer fail the test.
func (t *Trap) Caught() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	caught := t.caught
	t.caught = nil
	return caught
}

// Configure writes the reader's kubeconfig. Its current context is the trap, and these contexts are the servers that they name.
func (t *Trap) Configure(tb testing.TB, servers map[string]string) {
	tb.Helper()
	clusters, contexts := []string{}, []string{}
	add := func(name, server string) {
		clusters = append(clusters, fmt.Sprintf(`{"name":%q,"cluster":{"server":%q}}`, name, server))
		contexts = append(contexts, fmt.Sprintf(`{"name":%q,"context":{"cluster":%q}}`, name, name))
	}
	add("trap", "http://"+t.Address)
	for name, server := range servers {
		add(name, server)
	}
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","clusters":[%s],"contexts":[%s],"current-context":"trap"}`,
		strings.Join(clusters, ","), strings.Join(contexts, ","))
	err := errors.Join(os.MkdirAll(filepath.Dir(t.kubeconfig()), 0o700), os.WriteFile(t.kubeconfig(), []byte(config), 0o600))
	if err != nil {
		tb.Fatal(err)
	}
}

func (t *Trap) kubeconfig() string { return filepath.Join(t.Home, ".kube", "config") }

// Env returns the environment of the reader: each variable for an address names the trap. Programs are found in these folders, and in the
// PATH of the test.
func (t *Trap) Env(folders ...string) []string {
	host, port, _ := net.SplitHostPort(t.Address) // an address of the listener
	return []string{
		"HOME=" + t.Home, "PATH=" + strings.Join(append(folders, os.Getenv("PATH")), string(os.PathListSeparator)),
		"KUBECONFIG=" + t.kubeconfig(), "KUBERNETES_MASTER=http://" + t.Address + "/master",
		"KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port, // with the files of InOwnNetwork as in a pod
		"ETCDCTL_ENDPOINTS=http://" + t.Address, "DOCKER_HOST=tcp://" + t.Address,
	}
}
