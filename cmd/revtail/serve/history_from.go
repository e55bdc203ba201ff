package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"revtail/etcdstore/journal"
	"revtail/gateway/config"
)

// exportPath is that of the API.
const exportPath = "/v1/history/export"

// The times of copies of a journal.
const (
	// minCopyPause and maxCopyPause are the times between two attempts: the pause doubles.
	minCopyPause, maxCopyPause = time.Second, time.Minute
	// copyIdle is how long the other gateway may send nothing.
	copyIdle = time.Minute
	// copyProgress is the time between two lines of the log.
	copyProgress = 10 * time.Second
)

// historyCopy copies the journal of another gateway into a directory.
type historyCopy struct {
	cfg    config.Config
	logger *slog.Logger
}

// run copies the journal. It tries until it has it, or until ctx ends, with whose error it returns.
func (c *historyCopy) run(ctx context.Context) error {
	c.logger.Info("the journal is copied from another gateway; this one serves without a journal meanwhile", "from", c.cfg.HistoryFrom, "directory", c.cfg.HistoryDir)
	for pause := minCopyPause; ; pause = min(2*pause, maxCopyPause) {
		sum, err := c.copy(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			c.logger.Info("the journal was copied", "from", c.cfg.HistoryFrom, "ranges", sum.Ranges, "states", sum.States, "events", sum.Events)
			return nil
		}
		c.logger.Warn("the journal was not copied, trying again", "from", c.cfg.HistoryFrom, "after", pause.String(), "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// copy tries once. The error says what to do.
func (c *historyCopy) copy(ctx context.Context) (journal.Summary, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	resp, err := c.request(ctx)
	if err != nil {
		return journal.Summary{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	idle := time.AfterFunc(copyIdle, func() { cancel(fmt.Errorf("the other gateway has sent nothing for %v", copyIdle)) })
	defer idle.Stop()
	sum, err := journal.Import(ctx, c.cfg.HistoryDir, &timedReader{resp.Body, idle}, c.logger, c.progress())
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if errors.As(err, new(*fs.PathError)) || errors.As(err, new(*os.LinkError)) {
		err = fmt.Errorf("%w: want a --history-dir that this gateway can make and rename, so no root of a volume, but a directory below it", err)
	}
	return sum, err
}

// request asks for the export.
func (c *historyCopy) request(ctx context.Context) (*http.Response, error) {
	url := strings.TrimRight(c.cfg.HistoryFrom, "/") + exportPath
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	if file := c.cfg.HistoryFromTokenFile; file != "" {
		token, failed := os.ReadFile(file) //nolint:gosec // the operator names it
		if failed != nil {
			return nil, fmt.Errorf("--history-from-token-file: %w", failed)
		}
		r.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(token)))
	}
	security, err := c.tlsConfig()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: security, ResponseHeaderTimeout: copyIdle, DisableKeepAlives: true}
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%w: start the other gateway, or correct --history-from", err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	return nil, errors.Join(refusal(resp), resp.Body.Close())
}

// tlsConfig reads the files of the options, which may have changed since the last attempt.
func (c *historyCopy) tlsConfig() (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := c.cfg.HistoryFromCAFile; file != "" {
		authorities, err := os.ReadFile(file) //nolint:gosec // the operator names it
		if err != nil {
			return nil, fmt.Errorf("--history-from-ca-file: %w", err)
		}
		if out.RootCAs = x509.NewCertPool(); !out.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, fmt.Errorf("--history-from-ca-file %s: no certificate in this file", file)
		}
	}
	if c.cfg.HistoryFromCertFile != "" {
		certificate, err := tls.LoadX509KeyPair(c.cfg.HistoryFromCertFile, c.cfg.HistoryFromKeyFile)
		if err != nil {
			return nil, fmt.Errorf("--history-from-cert-file, --history-from-key-file: %w", err)
		}
		out.Certificates = []tls.Certificate{certificate}
	}
	return out, nil
}

// maxRefusal bounds what is read of a response with an error.
const maxRefusal = 4096

// refusal says what a response with an error means, and what to do.
func refusal(resp *http.Response) error {
	var why struct{ Message, Detail string } // of a Status, or of a problem
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	_ = json.Unmarshal(text, &why) // the code says enough
	hint := "look at its log"
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		hint = "it does not know the user: give a valid token with --history-from-token-file, or a certificate with --history-from-cert-file"
	case http.StatusForbidden:
		hint = "its policy is to allow the user to get the nonResourceURL " + exportPath
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		hint = "--history-from is to be the URL of a revtail of this version or a later one"
	case http.StatusNotImplemented:
		hint = "it has no journal: name a gateway with --history-dir, or remove --history-from"
	case http.StatusServiceUnavailable:
		hint = "it is asked again; if it waits for a copy, too, start one of the gateways without --history-from"
	case http.StatusTooManyRequests:
		hint = "it is asked again"
	}
	return fmt.Errorf("the other gateway answers %s %s: %s", resp.Status, strings.TrimSpace(why.Message+" "+why.Detail), hint)
}

// progress logs how far a copy is.
func (c *historyCopy) progress() journal.Progress {
	logged := time.Now()
	return func(_ string, done, _ int64) {
		if now := time.Now(); now.Sub(logged) >= copyProgress {
			logged = now
			c.logger.Info("the journal is being copied", "from", c.cfg.HistoryFrom, "read", config.Bytes(done).String())
		}
	}
}

// timedReader runs a timer while it waits for bytes.
type timedReader struct {
	io.Reader
	idle *time.Timer
}

// Read implements io.Reader.
func (r *timedReader) Read(p []byte) (int, error) {
	r.idle.Reset(copyIdle)
	defer r.idle.Stop()
	return r.Reader.Read(p)
}
