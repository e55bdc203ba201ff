package gateway

import (
	"context"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/watchcache/filter"
)

// keyChoice is which keys a request of the plain dialect sees, and what of their values.
type keyChoice struct {
	filter *filter.Filter       // nil: all
	fields *encoding.Projection // nil: the whole
}

// keyChoice reads filter= and fields=. The error is one for fail.
func (s *Server) keyChoice(q keyrange.Query) (c keyChoice, err error) {
	if c.filter, err = s.filters.Keys(q.Filter); err == nil {
		c.fields, err = s.filters.KeyFields(q.Fields)
	}
	return c, err
}

// matches tells whether a key, which must have its value, is chosen. The error is that of filter.Matches.
func (c keyChoice) matches(ctx context.Context, kv etcdstore.KV) (bool, error) {
	if c.filter == nil {
		return true, nil
	}
	document := encoding.AppendKeyValue(nil, keyOf(kv, false))
	return c.filter.Matches(ctx, filter.Input{Type: encoding.Added, Key: kv.Key, Document: document})
}

// shown is what is shown of the document of a key.
func (c keyChoice) shown(document []byte) []byte {
	if c.fields == nil {
		return document
	}
	return c.fields.Project(document)
}
