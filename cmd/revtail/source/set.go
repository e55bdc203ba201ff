package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/offline"
	"revtail/gateway/config"
	"revtail/gateway/http/response"
)

// Set opens sources. A file that several of them name is opened once, and the values of Secrets are redacted with one key, so that
// those of all sources can be compared.
type Set struct {
	Gateway *client.Config  // its servers are the source live; its credentials are also for those that are named by a URL
	Options offline.Options // of files; those about redaction also of servers
	Stderr  io.Writer       // for the errors of the servers of files

	files   map[string]*File
	past    []*File // files as they were at a revision
	clients []*client.Client
}

// AddFlags defines the flags that say how files are read.
func (s *Set) AddFlags(cmd *cobra.Command) {
	s.Options.AddFlags(cmd)
	config.GroupFlags(cmd.Flags(), "Snapshot", FileFlags...)
}

// FileFlags are the names of the flags that say how files are read.
var FileFlags = []string{"etcd-prefix", "encryption-provider-config", "redact", "partial", "skip-hash-check"}

// Close closes what Open has opened.
func (s *Set) Close() {
	for _, c := range s.clients {
		c.Close()
	}
	for _, f := range s.past {
		f.Close()
	}
	for _, f := range s.files {
		f.Close()
	}
}

// Open opens a source. It is usable until the set is closed.
func (s *Set) Open(ctx context.Context, n Name) (*Source, error) {
	out := &Source{Name: n, redact: s.Options.Redacts(), key: s.Options.Key}
	gateway, err := s.gatewayOf(ctx, n)
	if err != nil {
		return nil, err
	}
	if out.client, err = client.New(gateway); err != nil {
		return nil, command.UsageError(err)
	}
	s.clients = append(s.clients, out.client)
	if n.at != "" {
		if out.revision, err = revisionAt(ctx, out.client, s.prefixOf(n), n.at); err != nil {
			return nil, fmt.Errorf("%s: %w", n.Text, err)
		}
	}
	if err = s.goBack(ctx, out); err != nil {
		return nil, err
	}
	if out.Resources, err = out.client.Resources(ctx); err != nil {
		return nil, fmt.Errorf("%s: cannot read the resources: %w", n.Text, err)
	}
	return out, nil
}

// goBack makes the source of a file one of the file as it was at the revision, because definitions of resources may have been deleted since.
func (s *Set) goBack(ctx context.Context, source *Source) error {
	file := s.files[source.place]
	if source.file = file; file == nil || source.revision == 0 || source.revision == int64(file.Info.Newest) {
		return nil
	}
	then, err := file.AsOf(ctx, source.revision, s.Stderr)
	if err != nil {
		return fmt.Errorf("%s: %w", source.Text, err)
	}
	s.past, source.file = append(s.past, then), then
	if source.client, err = client.New(then.Gateway); err != nil {
		return err
	}
	s.clients = append(s.clients, source.client)
	return nil
}

// gatewayOf returns the gateway of a source.
func (s *Set) gatewayOf(ctx context.Context, n Name) (client.Config, error) {
	switch {
	case n.place == live:
		return *s.Gateway, nil
	case n.isServer(): // the kubeconfig has the credentials of another server
		return client.Config{
			Servers: []string{n.place}, CACert: s.Gateway.CACert, Cert: s.Gateway.Cert, Key: s.Gateway.Key, TokenFile: s.Gateway.TokenFile, ServerFlag: "source",
		}, nil
	}
	file := s.files[n.place]
	if file == nil {
		o := s.Options
		o.File = n.place
		opened, err := OpenFile(ctx, o, n.place, s.Stderr)
		if err != nil {
			return client.Config{}, err
		}
		if s.files == nil {
			s.files = make(map[string]*File)
		}
		s.files[n.place], file = opened, opened
	}
	if info := file.Info; n.revision != 0 && (n.revision < int64(info.Oldest) || n.revision > int64(info.Newest)) {
		return client.Config{}, fmt.Errorf("%s: the file has the revisions %d to %d: want one of them", n.Text, info.Oldest, info.Newest)
	}
	return file.Gateway, nil
}

// prefixOf returns the prefix of the resources of a source.
func (s *Set) prefixOf(n Name) string {
	if file := s.files[n.place]; file != nil {
		return file.Prefix
	}
	return "/registry"
}

// timeout bounds the request of revisionAt.
const timeout = time.Minute

// revisionAt returns the revision that a server had at a time: a gateway with the keys API of its resources, whose prefix is given, or one with a journal.
func revisionAt(ctx context.Context, c *client.Client, prefix, at string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	revision, err := keysAt(ctx, c, prefix, at)
	if client.HasCode(err, http.StatusForbidden) { // the keys API does not have these keys, or not for this user
		revision, err = namespacesAt(ctx, c, at)
	}
	switch {
	case client.HasCode(err, http.StatusNotFound):
		return 0, errNoTimes
	case err != nil:
		return 0, fmt.Errorf("the server does not say which revision it had at this time, want a revision after the @: %w", err)
	}
	return revision, nil
}

var errNoTimes = errors.New("this server does not have the times of its revisions: want a revision after the @")

// keysAt reads a page of keys at a time.
func keysAt(ctx context.Context, c *client.Client, prefix, at string) (int64, error) {
	resp, err := c.Do(ctx, client.Request{Path: "/v1/keys" + prefix + "/", Query: url.Values{"at": {at}, "limit": {"1"}, "keysOnly": {""}}})
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	var page struct {
		Revision int64 `json:"revision"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		return 0, fmt.Errorf("the revision of a time: %w", err)
	}
	return page.Revision, nil
}

// namespacesAt reads a page of Namespaces at a time. The error is errNoTimes if the server does not know the parameter: the header with the time is missing.
func namespacesAt(ctx context.Context, c *client.Client, at string) (int64, error) {
	resp, err := c.Do(ctx, client.Request{Path: "/api/v1/namespaces", Query: url.Values{"at": {at}, "limit": {"1"}}})
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.Header.Get(response.TimeHeader) == "" {
		return 0, errNoTimes
	}
	var page struct {
		Metadata struct {
			ResourceVersion int64 `json:"resourceVersion,string"`
		} `json:"metadata"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		return 0, fmt.Errorf("the revision of a time: %w", err)
	}
	return page.Metadata.ResourceVersion, nil
}
