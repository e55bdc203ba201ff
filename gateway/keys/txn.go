package keys

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	"revtail/encoding"
	"revtail/encoding/codec"
	"revtail/etcdstore"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/keys/keyrange"
)

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
		h.respond(w, r, done.Revision, response.FormatOf(r), done.appendResults(nil))
	}
	return err
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
