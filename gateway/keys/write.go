package keys

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

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
