package keys

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/etcdstore"
	"revtail/gateway/access"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/watchcache"
)

// read answers from etcd itself, linearizably or as of the revision that the request asks for: the answer holds every write that
// was done before the request.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, q keyrange.Query) error {
	store, err := h.keys.read(r, q.Keys)
	if err == nil {
		_, err = response.Negotiate(r, response.Object, response.NoProtobuf)
	}
	if err != nil {
		return err
	}
	selected, err := h.selection(r, q)
	if err != nil {
		return err
	}
	selected.account = h.watches.Account(r)
	defer selected.account.Release()
	ctx, cancel := context.WithTimeout(r.Context(), request.Timeout)
	defer cancel()
	if err := h.resolveTime(ctx, w, &q); err != nil {
		return err
	}
	answer := keysReader{query: q, selection: selected, memory: reservation{pool: h.responses, user: access.AccountOf(r)}}
	defer answer.memory.release()
	if err := answer.read(ctx, store); err != nil {
		return err
	}
	if q.AtTime == nil { // a time is resolved by the present history
		if err := watchcache.CheckRevision(store, q.At); err != nil {
			return err
		}
	}
	w.Header().Set(response.RevisionHeader, strconv.FormatInt(int64(answer.revision), 10))
	if !q.Keys.IsPrefix() && !q.Count && answer.count == 0 {
		return keyNotFound(q.Keys, answer.revision)
	}
	f := h.allowCaching(w, r, readLifetime(q))
	if tag := answer.etag(); tag != "" {
		w.Header().Set("ETag", tag)
		if matchesETag(r.Header.Values("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	h.respond(w, r, answer.revision, f, answer.document())
	return nil
}

// resolveTime replaces the time that a query asks for by the revision that etcd had then.
func (h *Handler) resolveTime(ctx context.Context, w http.ResponseWriter, q *keyrange.Query) error {
	if q.AtTime == nil {
		return nil
	}
	point, err := request.ResolveTime(ctx, h.timeline, []string{q.Keys.String()}, *q.AtTime)
	if err != nil {
		return err
	}
	response.SetTime(w, point.Time)
	q.At = point.Revision
	return nil
}

func keyNotFound(keys keyrange.Range, at etcdstore.Revision) error {
	return status.Error(http.StatusNotFound, metav1.StatusReasonNotFound,
		fmt.Sprintf("there is no key %q at revision %d; what begins with it is at %s/", keys, at, keys))
}
