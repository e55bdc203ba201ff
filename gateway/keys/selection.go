package keys

import (
	"cmp"
	"context"
	"net/http"

	"revtail/encoding"
	"revtail/encoding/projection"
	"revtail/etcdstore"
	"revtail/gateway/access"
	"revtail/gateway/access/cputime"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/watchcache/filter"
)

// selection is which keys of a range a request selects by filter=, and which fields of their values by fields=.
type selection struct {
	filter *filter.Filter         // nil: all keys
	fields *projection.Projection // nil: the whole value

	account *cputime.Account // pays for both; nil: nobody does
}

// selection compiles the expressions of a query, which is work of the caller's choice. The error is for Responder.Error.
func (h *Handler) selection(r *http.Request, q keyrange.Query) (s selection, err error) {
	if q.Filter == "" && q.Fields == "" {
		return s, nil
	}
	overload := h.watches.Processor.Do(access.AccountOf(r), func() {
		if s.filter, err = h.filters.Keys(q.Filter); err == nil {
			s.fields, err = h.filters.KeyFields(q.Fields)
		}
	})
	return s, cmp.Or(overload, err)
}

// matches reports whether a key, which must have its value, is selected. The error is that of filter.Matches.
func (s selection) matches(ctx context.Context, kv etcdstore.KV) (bool, error) {
	if s.filter == nil {
		return true, nil
	}
	turn := s.account.Turn()
	defer turn.End()
	if err := turn.Continue(); err != nil {
		return false, err
	}
	document := encoding.AppendKeyValue(nil, keyValue(kv, false))
	return s.filter.Matches(ctx, filter.Input{Type: encoding.Added, Key: kv.Key, Document: document})
}

// project returns the selected fields of the document of a key.
func (s selection) project(document []byte) []byte {
	if s.fields == nil {
		return document
	}
	turn := s.account.Turn()
	defer turn.End()
	_ = turn.Continue() // a key that is selected is shown
	return s.fields.Project(document)
}
