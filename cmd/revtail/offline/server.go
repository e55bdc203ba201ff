package offline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"revtail/cmd/revtail/memory"
	"revtail/etcdstore"
	"revtail/etcdstore/encryption"
	"revtail/etcdstore/redaction"
	"revtail/gateway"
	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/api/kinds"
	"revtail/gateway/claim"
	"revtail/gateway/config/buildinfo"
)

// Server serves a file.
type Server struct {
	*gateway.Server

	options   Options
	file      file
	info      Info
	store     etcdstore.Store       // of the gateway
	cluster   bool                  // the data is that of a kube-apiserver
	decrypted *encryption.Store     // over the file
	providers *encryption.Providers // of decrypted
	claim     *claim.Claim
}

// Open opens a file. The caller runs the server, and then closes it.
func Open(ctx context.Context, o Options, logger *slog.Logger) (s *Server, err error) {
	silenceKubernetes()
	s = &Server{options: o}
	if err = s.openFile(ctx, logger); err != nil {
		return nil, err
	}
	if err = s.open(ctx, logger); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// silenceKubernetes discards the log of Kubernetes' packages, because the gateway reports what concerns its user. The logger is one of the process.
var silenceKubernetes = sync.OnceFunc(func() { klog.SetSlogLogger(slog.New(slog.DiscardHandler)) })

func (s *Server) open(ctx context.Context, logger *slog.Logger) (err error) {
	if s.options.Prefix == "" {
		if s.options.Prefix, err = s.findPrefix(ctx); err != nil {
			return err
		}
	}
	state, err := claim.Look(ctx, claim.Config{Store: s.file, Prefix: s.options.Prefix, Builtin: kinds.Builtin(), Logger: logger})
	if err != nil {
		return err
	}
	s.cluster = state.Owner == claim.Kubernetes
	if err = s.decrypt(ctx, logger); err != nil {
		return err
	}
	s.store = s.decrypted
	if s.options.Redacts() {
		s.store = redaction.New(redaction.Config{Store: s.store, Prefix: s.options.Prefix, Key: s.options.Key})
	}
	s.claim, err = claim.Open(ctx, claim.Config{Store: s.store, Prefix: s.options.Prefix, Builtin: kinds.Builtin(), File: s.name(), Logger: logger})
	if err != nil {
		return err
	}
	s.Server, err = gateway.New(gateway.Options{
		Store: s.store, History: s.history(), Prefix: s.options.Prefix, Claim: s.claim, Cluster: s.cluster, File: true, Logger: logger, Build: buildinfo.Get(), Keys: []string{"*"},
		EncryptionFailure: s.undecrypted,
		Limits:            flowcontrol.Limits{Memory: memory.Limit()},
	})
	return err
}

// Close closes the file.
func (s *Server) Close() error {
	if s.providers != nil {
		s.providers.Close()
	}
	return s.file.Close()
}

// Info returns what the file contains.
func (s *Server) Info() Info { return s.info }

// Prefix returns the prefix of the resources.
func (s *Server) Prefix() string { return s.options.Prefix }

// Owner returns the owner of the data.
func (s *Server) Owner() claim.Owner { return s.claim.State().Owner }

// name returns what is served, for people.
func (s *Server) name() string {
	name := fmt.Sprintf("the %s %s at revision %d", s.info.Kind, filepath.Base(s.options.File), s.info.Newest)
	if !s.info.Saved.IsZero() {
		name += ", last written " + s.info.Saved.UTC().Format(time.RFC3339)
	}
	if s.info.Damage != nil {
		name += " (a part of a damaged file)"
	}
	if s.options.Redacts() {
		name += ", with the values of Secrets redacted"
	}
	return name
}

// claims is the prefix of the keys that mark data as revtail's; the rest is the prefix of the data.
const claims = "revtail/claims"

// defaultPrefix is that of revtail and of a kube-apiserver.
const defaultPrefix = "/registry"

// findPrefix returns the prefix of the resources: the default, unless there is nothing, and one other prefix is marked or recorded.
func (s *Server) findPrefix(ctx context.Context) (string, error) {
	usual, err := s.file.List(ctx, defaultPrefix+"/", etcdstore.ListOptions{Limit: 1, KeysOnly: true})
	if err != nil || len(usual.KVs) > 0 {
		return defaultPrefix, err
	}
	if recorded := s.info.Prefixes; len(recorded) == 1 { // a journal has no marks
		return strings.TrimSuffix(recorded[0], "/"), nil
	}
	marked, err := s.file.List(ctx, claims+"/", etcdstore.ListOptions{Limit: 2, KeysOnly: true})
	if err != nil || len(marked.KVs) != 1 {
		return defaultPrefix, err
	}
	return strings.TrimPrefix(marked.KVs[0].Key, claims), nil
}
