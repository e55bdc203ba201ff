package keys

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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/encoding/codec"
	"revtail/etcdstore"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/keys/keyrange"
)

// put writes the body under a key, byte for byte.
func (h *Handler) put(w http.ResponseWriter, r *http.Request, q keyrange.Query) error {
	if q.Keys.IsPrefix() {
		return status.BadRequest("%q ends with /, which makes it a prefix: a value needs a key", q.Keys)
	}
	conditions, err := preconditions(r, q.Keys)
	if err != nil {
		return err
	}
	write, err := h.keys.write(r, etcdstore.Put, q.Keys)
	if err != nil {
		return err
	}
	if write.Then[0].Value, err = request.ReadBody(w, r); err != nil {
		return err
	}
	done, err := write.commitIf(r.Context(), conditions, q.TTL)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%d"`, done.Revision))
	h.respond(w, r, done.Revision, response.FormatOf(r), done.appendPut(nil, 0))
	return nil
}

// delete deletes a key, or the keys of a prefix if the query confirms that with prefix=true.
func (h *Handler) delete(w http.ResponseWriter, r *http.Request, q keyrange.Query) error {
	conditions, err := preconditions(r, q.Keys)
	switch {
	case err != nil:
		return err
	case q.Keys.IsPrefix() && !q.Prefix:
		return status.BadRequest("%q ends with /: if all keys that begin with it are to be deleted, add prefix=true", q.Keys)
	case q.Keys.IsPrefix() && len(conditions) > 0:
		return status.BadRequest("If-Match and If-None-Match are about one key, and %q is a prefix: use /v1/txn", q.Keys)
	}
	write, err := h.keys.write(r, etcdstore.Delete, q.Keys)
	if err != nil {
		return err
	}
	done, err := write.commitIf(r.Context(), conditions, 0)
	if err != nil {
		return err
	}
	deleted := done.Results[0].Deleted
	if deleted == 0 && !q.Keys.IsPrefix() {
		return keyNotFound(q.Keys, done.Revision)
	}
	h.respond(w, r, done.Revision, response.FormatOf(r), fmt.Appendf(nil, `{"revision":%d,"deleted":%d}`, done.Revision, deleted))
	return nil
}

// commitIf does a write under conditions on its key. If they do not hold, it returns an *etcdstore.ConflictError.
func (t authorizedTxn) commitIf(ctx context.Context, conditions []etcdstore.Condition, ttl time.Duration) (committed, error) {
	t.If = conditions
	if ttl > 0 {
		t.TTLs = map[*int64]time.Duration{&t.Then[0].Lease: ttl}
	}
	done, err := t.commit(ctx)
	if err != nil || done.Succeeded {
		return done, err
	}
	conflict := &etcdstore.ConflictError{KV: etcdstore.KV{Key: t.Then[0].Key}}
	if current := done.Results[0].KV; current != nil {
		conflict.KV = *current
	}
	return done, conflict
}

// preconditions returns the conditions of If-Match ("REVISION", or * for a key that exists) and If-None-Match (* alone, for a key
// that does not exist).
func preconditions(r *http.Request, keys keyrange.Range) ([]etcdstore.Condition, error) {
	var conditions []etcdstore.Condition
	switch match := r.Header.Values("If-Match"); {
	case len(match) == 0:
	case len(match) == 1 && match[0] == "*":
		conditions = append(conditions, etcdstore.Condition{Key: keys.String(), Of: etcdstore.OfModified, Is: etcdstore.Greater})
	default:
		revision, err := strconv.ParseInt(strings.Trim(strings.Join(match, ","), `"`), 10, 64)
		if err != nil || revision <= 0 {
			return nil, status.BadRequest(`If-Match: %s: want the ETag of the key, as "42", or *`, strings.Join(match, ","))
		}
		conditions = append(conditions, etcdstore.Condition{Key: keys.String(), Of: etcdstore.OfModified, Number: revision})
	}
	switch none := r.Header.Values("If-None-Match"); {
	case len(none) == 0:
	case len(none) == 1 && none[0] == "*":
		conditions = append(conditions, etcdstore.Condition{Key: keys.String(), Of: etcdstore.OfModified})
	default:
		return nil, status.BadRequest("If-None-Match of a write: want *, which lets it make a key and not overwrite one")
	}
	return conditions, nil
}

// ServeTxn answers /v1/txn.
func (h *Handler) ServeTxn(w http.ResponseWriter, r *http.Request) {
	if err := h.txn(w, r); err != nil {
		h.responder.Error(w, r, err)
	}
}

// txn does the transaction in the body. The body must be declared as JSON, because a page of another origin can make a browser send
// other types without asking.
func (h *Handler) txn(w http.ResponseWriter, r *http.Request) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != response.JSON {
		return &codec.UnsupportedMediaTypeError{Accepted: []string{response.JSON}}
	}
	if err := keyrange.CheckTxn(request.Query(r)); err != nil {
		return status.BadRequest("%v", err)
	}
	body, err := request.ReadBody(w, r)
	if err != nil {
		return err
	}
	parsed, err := keyrange.ParseTxn(body)
	if err != nil {
		return status.BadRequest("%v", err)
	}
	txn, err := h.keys.txn(r, parsed)
	if err != nil {
		return err
	}
	done, err := txn.commit(r.Context())
	if err == nil {
		err = done.checkReadable()
	}
	if err == nil {
		h.respond(w, r, done.Revision, response.FormatOf(r), done.appendResults(nil))
	}
	return err
}

// checkReadable returns an error if a value that the transaction has read cannot be shown.
func (c committed) checkReadable() error {
	for _, result := range c.Results {
		if result.KV != nil && result.KV.Unreadable != nil {
			return status.Error(http.StatusInternalServerError, metav1.StatusReasonInternalError,
				fmt.Sprintf("the transaction is done, at revision %d, but its answer cannot be shown: %v", c.Revision, result.KV.Unreadable))
		}
	}
	return nil
}

// committed is a transaction that was done.
type committed struct {
	etcdstore.TxnResult
	ops  []etcdstore.Op           // that were done
	ttls map[*int64]time.Duration // of their leases, as etcd granted them
}

// commit makes the leases of a transaction and does it. It revokes the leases that no key has in the end.
func (t authorizedTxn) commit(ctx context.Context) (done committed, err error) {
	ctx, cancel := context.WithTimeout(ctx, request.Timeout)
	defer cancel()
	done.ttls = t.TTLs
	for lease, ttl := range t.TTLs {
		if *lease, t.TTLs[lease], err = t.store.Grant(ctx, ttl); err != nil {
			t.revoke(ctx, t.Then, t.Else)
			return done, err
		}
	}
	done.TxnResult, err = t.store.Transact(ctx, t.Txn.Txn)
	switch {
	case errors.Is(err, etcdstore.ErrUnknownOutcome): // keys may have the leases
	case err != nil:
		t.revoke(ctx, t.Then, t.Else)
	case done.Succeeded:
		done.ops = t.Then
		t.revoke(ctx, t.Else)
	default:
		done.ops = t.Else
		t.revoke(ctx, t.Then)
	}
	return done, err
}

// revoke ends the leases of operations that were not done. A lease that cannot be revoked expires.
func (t authorizedTxn) revoke(ctx context.Context, undone ...[]etcdstore.Op) {
	for _, op := range slices.Concat(undone...) {
		if op.Lease != 0 {
			_ = t.store.Revoke(context.WithoutCancel(ctx), op.Lease)
		}
	}
}

// appendResults appends the answer to a transaction.
func (c committed) appendResults(dst []byte) []byte {
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
			dst = encoding.AppendKeyValue(append(dst, `{"get":`...), keyValue(*result.KV, false))
		}
		dst = append(dst, '}')
	}
	return append(dst, `]}`...)
}

// appendPut appends the result of the i-th operation, which is a put.
func (c committed) appendPut(dst []byte, i int) []byte {
	op := &c.ops[i]
	dst = strconv.AppendInt(append(dst, `{"revision":`...), int64(c.Revision), 10)
	dst = encoding.AppendKey(append(dst, ','), op.Key)
	if op.Lease != 0 {
		dst = fmt.Appendf(dst, `,"lease":"%x","ttl":"%v"`, op.Lease, c.ttls[&op.Lease])
	}
	return append(dst, '}')
}
