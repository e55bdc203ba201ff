// Package certificate keeps the TLS configuration of listeners what its files say, while they are replaced: by hand, by
// certbot, or by the swap of a symbolic link as Kubernetes does it in a mounted Secret.
package certificate

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// pollInterval is how often the files are read: some KiB, of which nothing happens when they are as they were. Events of the
// file system would come sooner, but not from every file system.
const pollInterval = 2 * time.Second

// Keeper holds what the files said when they last made sense. New connections get that; open ones are left alone.
type Keeper struct {
	files   Files
	logger  *slog.Logger
	current atomic.Pointer[serving]
	changes atomic.Uint64 // of current

	mu       sync.Mutex        // guards the fields below
	used     [sha256.Size]byte // the digest of current
	trouble  trouble           // with what the files hold; zero: they hold what is used
	reported bool              // the trouble is in the log
	failures int               // troubles reported
}

// trouble is why contents cannot be used. It is the same trouble as long as the contents are the same.
type trouble struct {
	digest [sha256.Size]byte
	reason string
}

// Open reads the files. An error names the flag of the file that it is about.
func Open(files Files, logger *slog.Logger) (*Keeper, error) {
	content, err := files.read()
	if err != nil {
		return nil, err
	}
	first, err := files.parse(content)
	if err != nil {
		return nil, err
	}
	k := &Keeper{files: files, logger: logger}
	k.useLocked(first, content.digest()) // nobody else has it yet
	return k, nil
}

// Config is a configuration for listeners with TLS 1.2 and later, for HTTP/2 and HTTP/1.1. Each handshake gets what the files
// say by then. With authorities for clients, a client may come without a certificate, but not with one that they did not sign.
func (k *Keeper) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.current.Load().config, nil },
	}
}

// VerifyClient checks a client's certificate, followed by those between it and its authority, with the authorities as they are
// now: an open connection may have come in under others.
func (k *Keeper) VerifyClient(chain []*x509.Certificate) error {
	authorities := k.current.Load().config.ClientCAs
	if authorities == nil {
		return errors.New("no certificates of clients are accepted")
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: authorities, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

// Generation is another number each time that the files say something new.
func (k *Keeper) Generation() uint64 { return k.changes.Load() }

// Run looks at the files every few seconds until ctx ends. What does not make sense is reported when it is seen a second time:
// files are seldom replaced all at once.
func (k *Keeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			k.look(false)
		}
	}
}

// Reload looks at the files now, and reports at once what does not make sense: somebody says that they are complete.
func (k *Keeper) Reload() { k.look(true) }

func (k *Keeper) look(complete bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	content, err := k.files.read()
	digest := content.digest()
	if err == nil && digest == k.used {
		k.trouble, k.reported = trouble{}, false
		return
	}
	var next *serving
	if err == nil {
		next, err = k.files.parse(content)
	}
	if err != nil {
		k.refuseLocked(trouble{digest, err.Error()}, complete)
		return
	}
	k.useLocked(next, digest)
	k.logger.Info("TLS files have changed and are used for new connections", "expires", next.leaf.NotAfter)
}

func (k *Keeper) useLocked(next *serving, digest [sha256.Size]byte) {
	k.current.Store(next)
	k.changes.Add(1)
	k.used, k.trouble, k.reported = digest, trouble{}, false
	if problems := next.problems(time.Now()); len(problems) > 0 {
		k.logger.Warn("TLS connections will fail", "reason", strings.Join(problems, "; "))
	}
}

func (k *Keeper) refuseLocked(found trouble, complete bool) {
	again := found == k.trouble
	if !again {
		k.trouble, k.reported = found, false
	}
	if complete || again && !k.reported {
		k.reported = true
		k.failures++
		k.logger.Warn("TLS files have changed but cannot be used: what they said before stays in use", "reason", found.reason,
			"expires", k.current.Load().leaf.NotAfter)
	}
}
