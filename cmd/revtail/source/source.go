package source

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/cmd/revtail/client"
	"revtail/etcdstore/redaction"
)

// Source is a source that is open.
type Source struct {
	Name

	Resources []client.Resource

	client *client.Client
	file   *File // nil: it is a server
	redact bool
	key    redaction.Key
}

// Objects returns the objects of a query, as of the revision of the source, in the order of their keys in etcd. Values of Secrets are redacted if the
// flags say so. An error ends the sequence.
func (s *Source) Objects(ctx context.Context, q client.Query) iter.Seq2[client.Object, error] {
	q.Revision = s.revision
	return func(yield func(client.Object, error) bool) {
		for o, err := range s.client.Objects(ctx, q) {
			if err != nil {
				yield(o, s.explain(q, err))
				return
			}
			if s.redact && s.isServer() { // a file does it by itself
				o.JSON = s.key.Object(o.JSON)
			}
			if !yield(o, nil) {
				return
			}
		}
	}
}

// Get returns an object; nil: the source does not have it.
func (s *Source) Get(ctx context.Context, q client.Query) (*client.Object, error) {
	for o, err := range s.Objects(ctx, q) {
		if err != nil {
			return nil, err
		}
		return &o, nil
	}
	return nil, nil
}

// Undefined returns the custom resources that a file has keys of and does not serve, because their definitions are not there, with the number of
// their keys. Of a server nothing is known.
func (s *Source) Undefined(ctx context.Context) (map[schema.GroupResource]int64, error) {
	if s.file == nil {
		return nil, nil
	}
	return s.file.server.Undefined(ctx, func(of schema.GroupResource) bool {
		return slices.ContainsFunc(s.Resources, func(r client.Resource) bool { return r.Group == of.Group && r.Plural == of.Resource })
	})
}

// explain says of which source an error is, and what can be done.
func (s *Source) explain(q client.Query, err error) error {
	switch {
	case client.HasCode(err, http.StatusGone):
		err = fmt.Errorf("etcd has compacted this revision: want a later one: %w", err)
	case client.HasCode(err, http.StatusGatewayTimeout) && s.revision != 0:
		err = fmt.Errorf("etcd may not have this revision yet: %w", err)
	}
	return fmt.Errorf("%s: %s: %w", s.Text, q.Resource.QualifiedName(), err)
}
