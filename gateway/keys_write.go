package gateway

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"revtail/encoding"
	"revtail/encoding/codec"
	"revtail/etcdstore"
	"revtail/gateway/keys/keyrange"
)

// serveKeyPut writes the body under a key, byte for byte.
func (s *Server) serveKeyPut(w http.ResponseWriter, r *http.Request, q keyrange.Query) {
	op := etcdstore.Op{Verb: etcdstore.Put, Key: q.Keys.String()}
	if q.Keys.IsPrefix() {
		s.responder.fail(w, r, badRequest("%q ends with /, which makes it a prefix: a value needs a key", q.Keys))
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
		s.responder.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	done, err := s.commitOne(ctx, conditions, op, q.TTL)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%d"`, done.Revision))
	s.respondPlain(w, r, done.Revision, done.appendPut(nil, 0))
}

// serveKeyDelete deletes a key or, if the query says that this is meant, all below a prefix.
func (s *Server) serveKeyDelete(w http.ResponseWriter, r *http.Request, q keyrange.Query) {
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
		s.responder.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	done, err := s.commitOne(ctx, conditions, etcdstore.Op{Verb: etcdstore.Delete, Key: q.Keys.String(), Prefix: q.Keys.IsPrefix()}, 0)
	if err == nil && done.Results[0].Deleted == 0 && !q.Keys.IsPrefix() {
		err = noKey(q.Keys, done.Revision)
	}
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	s.respondPlain(w, r, done.Revision, fmt.Appendf(nil, `{"revision":%d,"deleted":%d}`, done.Revision, done.Results[0].Deleted))
}

// commitOne does one thing under conditions that are all about the same key: *etcdstore.ConflictError when they do not hold.
func (s *Server) commitOne(ctx context.Context, conditions []etcdstore.Condition, op etcdstore.Op, ttl time.Duration) (committed, error) {
	txn := keyrange.Txn{Txn: etcdstore.Txn{
		If: conditions, Then: []etcdstore.Op{op}, Else: []etcdstore.Op{{Verb: etcdstore.Get, Key: op.Key}},
	}}
	if ttl > 0 {
		txn.TTLs = map[*int64]time.Duration{&txn.Then[0].Lease: ttl}
	}
	done, err := s.commit(ctx, txn)
	if err != nil || done.Succeeded {
		return done, err
	}
	conflict := &etcdstore.ConflictError{KV: etcdstore.KV{Key: op.Key}}
	if stands := done.Results[0].KV; stands != nil {
		conflict.KV = *stands
	}
	return done, conflict
}

// preconditions are what If-Match ("REVISION", or * for a key that exists) and If-None-Match (* alone: one that does not) demand.
func preconditions(r *http.Request, keys keyrange.Range) ([]etcdstore.Condition, error) {
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
		s.responder.fail(w, r, &codec.UnsupportedMediaTypeError{Accepted: []string{jsonType}})
		return
	}
	if err := keyrange.CheckTxn(queryOf(r)); err != nil {
		s.responder.fail(w, r, badRequest("%v", err))
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	txn, err := keyrange.ParseTxn(body)
	if err == nil {
		err = s.permitTxn(r, txn)
	} else {
		err = badRequest("%v", err)
	}
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	done, err := s.commit(ctx, txn)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	s.respondPlain(w, r, done.Revision, done.appendTo(nil))
}

// committed is a transaction that was done.
type committed struct {
	etcdstore.TxnResult
	ops  []etcdstore.Op           // those that were done
	ttls map[*int64]time.Duration // of their leases, as they were granted
}

// commit makes the leases that a transaction needs, and does it. Leases without a key are not left behind.
func (s *Server) commit(ctx context.Context, txn keyrange.Txn) (done committed, err error) {
	done.ttls = txn.TTLs
	for lease, ttl := range txn.TTLs {
		if *lease, txn.TTLs[lease], err = s.options.Store.Grant(ctx, ttl); err != nil {
			s.revoke(ctx, txn.Then, txn.Else)
			return done, err
		}
	}
	done.TxnResult, err = s.options.Store.Transact(ctx, txn.Txn)
	switch {
	case errors.Is(err, etcdstore.ErrUnknownOutcome): // keys may have them
	case err != nil:
		s.revoke(ctx, txn.Then, txn.Else)
	case done.Succeeded:
		done.ops = txn.Then
		s.revoke(ctx, txn.Else)
	default:
		done.ops = txn.Else
		s.revoke(ctx, txn.Then)
	}
	return done, err
}

// revoke ends the leases of what was not done. One that cannot be ended does so by itself.
func (s *Server) revoke(ctx context.Context, undone ...[]etcdstore.Op) {
	for _, op := range slices.Concat(undone...) {
		if op.Lease != 0 {
			_ = s.options.Store.Revoke(context.WithoutCancel(ctx), op.Lease)
		}
	}
}

// permitTxn asks for every key that a transaction is about, whether or not it comes to that.
func (s *Server) permitTxn(r *http.Request, txn keyrange.Txn) error {
	var errs []error
	ask := func(verb, key string) {
		keys, err := keyrange.ParseKey(key)
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

// appendTo appends the answer to a transaction.
func (c committed) appendTo(dst []byte) []byte {
	dst = fmt.Appendf(dst, `{"revision":%d,"succeeded":%t,"results":[`, c.Revision, c.Succeeded)
	for i, result := range c.Results {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case c.ops[i].Verb == etcdstore.Put:
			dst = c.appendPut(append(dst, `{"put":`...), i)
		case c.ops[i].Verb == etcdstore.Delete:
			dst = fmt.Appendf(dst, `{"deleted":%d`, result.Deleted)
		case result.KV == nil:
			dst = append(dst, `{"get":null`...)
		default:
			dst = encoding.AppendKeyValue(append(dst, `{"get":`...), keyOf(*result.KV, false))
		}
		dst = append(dst, '}')
	}
	return append(dst, `]}`...)
}

// appendPut appends what became of a put, the op of that number.
func (c committed) appendPut(dst []byte, i int) []byte {
	op := &c.ops[i]
	dst = strconv.AppendInt(append(dst, `{"revision":`...), int64(c.Revision), 10)
	dst = encoding.AppendKey(append(dst, ','), op.Key)
	if op.Lease != 0 {
		dst = fmt.Appendf(dst, `,"lease":"%x","ttl":"%v"`, op.Lease, c.ttls[&op.Lease])
	}
	return append(dst, '}')
}
