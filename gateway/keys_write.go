package gateway

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"revtail/encoding"
	"revtail/encoding/codec"
	"revtail/etcdstore"
	"revtail/gateway/plain"
)

// serveKeyPut writes the body under a key, byte for byte.
func (s *Server) serveKeyPut(w http.ResponseWriter, r *http.Request, q plain.Query) {
	op := etcdstore.Op{Verb: etcdstore.Put, Key: q.Keys.String()}
	if q.Keys.IsPrefix() {
		s.fail(w, r, badRequest("%q ends with /, which makes it a prefix: a value needs a key", q.Keys))
		return
	}
	conditions, err := preconditions(r, q.Keys)
	if err == nil {
		err = s.permitKeys(r, "update", q.Keys)
	}
	if err == nil {
		op.Value, err = readBody(w, r)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	ttl := q.TTL
	if ttl > 0 {
		if op.Lease, ttl, err = s.options.Store.Grant(ctx, ttl); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	result, err := s.transact(ctx, conditions, op)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%d"`, result.Revision))
	s.respondPlain(w, r, result.Revision, appendPut(nil, result.Revision, op, ttl))
}

func appendPut(dst []byte, revision etcdstore.Revision, op etcdstore.Op, ttl time.Duration) []byte {
	dst = strconv.AppendInt(append(dst, `{"revision":`...), int64(revision), 10)
	dst = encoding.AppendKey(append(dst, ','), op.Key)
	if op.Lease != 0 {
		dst = fmt.Appendf(dst, `,"lease":"%x"`, op.Lease)
	}
	if ttl > 0 {
		dst = fmt.Appendf(dst, `,"ttl":"%v"`, ttl)
	}
	return append(dst, '}')
}

// serveKeyDelete deletes a key or, if the query says that this is meant, all below a prefix.
func (s *Server) serveKeyDelete(w http.ResponseWriter, r *http.Request, q plain.Query) {
	conditions, err := preconditions(r, q.Keys)
	switch {
	case err != nil:
	case q.Keys.IsPrefix() && !q.Prefix:
		err = badRequest("%q ends with /: if all keys that begin with it are to be deleted, add prefix=true", q.Keys)
	case q.Keys.IsPrefix() && len(conditions) > 0:
		err = badRequest("If-Match and If-None-Match are about one key, and %q is a prefix: use /v1/txn", q.Keys)
	default:
		err = s.permitKeys(r, "delete", q.Keys)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	result, err := s.transact(ctx, conditions, etcdstore.Op{Verb: etcdstore.Delete, Key: q.Keys.String(), Prefix: q.Keys.IsPrefix()})
	if err == nil && result.Results[0].Deleted == 0 && !q.Keys.IsPrefix() {
		err = noKey(q.Keys, result.Revision)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.respondPlain(w, r, result.Revision, fmt.Appendf(nil, `{"revision":%d,"deleted":%d}`, result.Revision, result.Results[0].Deleted))
}

// transact does one thing under conditions that are all about the same key: *etcdstore.ConflictError when they do not hold.
func (s *Server) transact(ctx context.Context, conditions []etcdstore.Condition, op etcdstore.Op) (etcdstore.TxnResult, error) {
	result, err := s.options.Store.Transact(ctx, etcdstore.Txn{
		If: conditions, Then: []etcdstore.Op{op}, Else: []etcdstore.Op{{Verb: etcdstore.Get, Key: op.Key}},
	})
	if err != nil || result.Succeeded {
		return result, err
	}
	conflict := &etcdstore.ConflictError{KV: etcdstore.KV{Key: op.Key}}
	if stands := result.Results[0].KV; stands != nil {
		conflict.KV = *stands
	}
	return result, conflict
}

// preconditions are what If-Match ("REVISION", or * for a key that exists) and If-None-Match (* alone: one that does not) demand.
func preconditions(r *http.Request, keys plain.Range) ([]etcdstore.Condition, error) {
	var conditions []etcdstore.Condition
	switch match := r.Header.Values("If-Match"); {
	case len(match) == 0:
	case len(match) == 1 && match[0] == "*":
		conditions = append(conditions, etcdstore.Condition{Key: keys.String(), Of: etcdstore.OfModified, Is: etcdstore.Greater})
	default:
		revision, err := strconv.ParseInt(strings.Trim(strings.Join(match, ","), `"`), 10, 64)
		if err != nil || revision <= 0 {
			return nil, badRequest(`If-Match: %s: want the ETag of the key, as "42", or *`, strings.Join(match, ","))
		}
		conditions = append(conditions, etcdstore.Condition{Key: keys.String(), Of: etcdstore.OfModified, Number: revision})
	}
	switch none := r.Header.Values("If-None-Match"); {
	case len(none) == 0:
	case len(none) == 1 && none[0] == "*":
		conditions = append(conditions, etcdstore.Condition{Key: keys.String(), Of: etcdstore.OfModified})
	default:
		return nil, badRequest("If-None-Match of a write: want *, which lets it make a key and not overwrite one")
	}
	return conditions, nil
}

// serveTxn does a transaction that its body describes. The body must say that it is JSON: a page of somebody else's can have a
// browser send anything, but not that.
func (s *Server) serveTxn(w http.ResponseWriter, r *http.Request) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != jsonType {
		s.fail(w, r, &codec.UnsupportedMediaTypeError{Accepted: []string{jsonType}})
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	txn, err := plain.ParseTxn(body)
	if err == nil {
		err = s.permitTxn(r, txn)
	} else {
		err = badRequest("%v", err)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	result, ops, err := s.commit(ctx, txn)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.respondPlain(w, r, result.Revision, appendTxn(nil, result, ops))
}

// commit makes the leases that a transaction needs, and does it; ops are those that were done.
func (s *Server) commit(ctx context.Context, txn plain.Txn) (result etcdstore.TxnResult, ops []etcdstore.Op, err error) {
	for lease, ttl := range txn.TTLs {
		if *lease, _, err = s.options.Store.Grant(ctx, ttl); err != nil {
			return result, nil, err
		}
	}
	if result, err = s.options.Store.Transact(ctx, txn.Txn); err != nil {
		return result, nil, err
	}
	if result.Succeeded {
		return result, txn.Then, nil
	}
	return result, txn.Else, nil
}

// permitTxn asks for every key that a transaction is about, whether or not it comes to that.
func (s *Server) permitTxn(r *http.Request, txn plain.Txn) error {
	var errs []error
	ask := func(verb, key string) {
		keys, err := plain.ParseKey(key)
		if err == nil {
			err = s.permitKeys(r, verb, keys)
		}
		errs = append(errs, err)
	}
	for _, c := range txn.If {
		ask("get", c.Key)
	}
	for _, ops := range [][]etcdstore.Op{txn.Then, txn.Else} {
		for _, op := range ops {
			ask(map[etcdstore.Verb]string{etcdstore.Get: "get", etcdstore.Put: "update", etcdstore.Delete: "delete"}[op.Verb], op.Key)
		}
	}
	return errors.Join(errs...)
}

func appendTxn(dst []byte, result etcdstore.TxnResult, ops []etcdstore.Op) []byte {
	dst = fmt.Appendf(dst, `{"revision":%d,"succeeded":%t,"results":[`, result.Revision, result.Succeeded)
	for i, done := range result.Results {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case ops[i].Verb == etcdstore.Put:
			dst = appendPut(append(dst, `{"put":`...), result.Revision, ops[i], 0)
		case ops[i].Verb == etcdstore.Delete:
			dst = fmt.Appendf(dst, `{"deleted":%d`, done.Deleted)
		case done.KV == nil:
			dst = append(dst, `{"get":null`...)
		default:
			dst = encoding.AppendKeyValue(append(dst, `{"get":`...), keyOf(*done.KV, false))
		}
		dst = append(dst, '}')
	}
	return append(dst, `]}`...)
}
