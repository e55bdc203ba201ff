package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/keys/keyrange"
)

const (
	// keysPage is how many keys are asked of etcd at a time at most, and maxKeysAnswer about how many bytes of values an answer has at
	// most: the rest has a page of its own.
	keysPage      = 500
	maxKeysAnswer = 32 << 20
)

// serveKeysRead answers from etcd itself, linearizably or as of the revision that is asked for: what was written before the
// request is there.
func (s *Server) serveKeysRead(w http.ResponseWriter, r *http.Request, q keyrange.Query) {
	verb := "get"
	if q.Keys.IsPrefix() {
		verb = "list"
	}
	err := s.permitKeys(r, verb, q.Keys)
	if err == nil {
		err = negotiate(r)
	}
	var choice keyChoice
	if err == nil {
		choice, err = s.keyChoice(q)
	}
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	asked := q
	part := share{budget: &s.keysBudget}
	defer part.release()
	var found *keysFound
	if err = s.atTime(ctx, w, &q); err == nil {
		found, err = s.readKeys(ctx, q, choice, &part)
	}
	if err == nil && found.revision < q.MinRevision {
		err = &etcdstore.FutureError{Requested: q.MinRevision, Current: found.revision}
	}
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	w.Header().Set(revisionHeader, strconv.FormatInt(int64(found.revision), 10))
	if !q.Keys.IsPrefix() && !q.Count && found.count == 0 {
		s.responder.fail(w, r, noKey(q.Keys, found.revision))
		return
	}
	s.shareRead(w, r, asked)
	if tag := found.tag(q); tag != "" {
		w.Header().Set("ETag", tag)
		if matches(r.Header.Values("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	s.respondPlain(w, r, found.revision, found.document(q))
}

// timeHeader says, where a state is read by time, of which time it is.
const timeHeader = "Revtail-Time"

// atTime finds the revision of a time that a query names.
func (s *Server) atTime(ctx context.Context, w http.ResponseWriter, q *keyrange.Query) error {
	if q.AtTime == nil {
		return nil
	}
	now := time.Now()
	when := q.AtTime.Of(now)
	if when.After(now) {
		return badRequest("at=%s is in the future: it is %s", when.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	point, err := s.timeline.At(ctx, when)
	if err != nil {
		return err
	}
	w.Header().Set(timeHeader, point.Time.UTC().Format(time.RFC3339))
	q.At = point.Revision
	return nil
}

func noKey(keys keyrange.Range, at etcdstore.Revision) error {
	return &apierrors.StatusError{ErrStatus: *newStatus(http.StatusNotFound, metav1.StatusReasonNotFound,
		fmt.Sprintf("there is no key %q at revision %d; what begins with it is at %s/", keys, at, keys))}
}

// keysFound is what a read has found.
type keysFound struct {
	revision etcdstore.Revision
	items    [][]byte
	count    int64              // of keys, shown or not, up to where the page ends
	chosen   int64              // of these
	modified etcdstore.Revision // the newest of theirs
	more     int64              // how many keys follow
	last     string             // key that was looked at
}

// readKeys reads page after page, all as of one revision, as far as there is a share of memory for it.
func (s *Server) readKeys(ctx context.Context, q keyrange.Query, choice keyChoice, part *share) (*keysFound, error) {
	withoutValue := q.KeysOnly || q.Count || q.Level
	options := etcdstore.ListOptions{At: q.At, After: q.After, Exact: !q.Keys.IsPrefix(), KeysOnly: withoutValue && choice.filter == nil}
	var pages pager
	if options.KeysOnly {
		pages.next = keysPage
	}
	limit := q.Limit
	if limit == 0 {
		limit = keyrange.MaxItems
	}
	onlyCount := q.Count && choice.filter == nil // which etcd says with the first key
	if onlyCount {
		pages.next = 1
	}
	found, level, size := &keysFound{}, "", 0
	for {
		options.Limit = pages.limit(keysPage)
		page, err := s.options.Store.List(ctx, q.Keys.String(), options)
		if err != nil {
			return nil, err
		}
		found.revision, options.At = page.Revision, page.Revision
		pages.took(page.KVs)
		for i, kv := range page.KVs {
			chosen, err := choice.matches(ctx, kv)
			if err != nil {
				return nil, err
			}
			if !chosen || q.Count {
				found.pass(kv, chosen)
				continue
			}
			next := ""
			if q.Level {
				next = nextLevel(q.Keys, kv.Key)
			}
			if full := len(found.items) == limit || size > maxKeysAnswer; full && (next == "" || next != level) {
				found.more, found.last = int64(len(page.KVs)-i)+page.Remaining, beyond(found.last, level)
				return found, nil
			}
			found.pass(kv, true)
			if !withoutValue {
				size += len(kv.Value)
				if err := part.grow(len(kv.Value)); err != nil {
					return nil, err
				}
			}
			switch {
			case next == "":
				found.items = append(found.items, choice.shown(encoding.AppendKeyValue(nil, keyOf(kv, withoutValue))))
			case next != level:
				found.items = append(found.items, append(encoding.AppendKey([]byte{'{'}, next), '}'))
			}
			level = next
		}
		if found.more = page.Remaining; found.more == 0 || onlyCount {
			return found, nil
		}
		options.After = beyond(found.last, level)
	}
}

// pass notes a key that was looked at.
func (f *keysFound) pass(kv etcdstore.KV, chosen bool) {
	f.count++
	if chosen {
		f.chosen++
	}
	f.modified, f.last = max(f.modified, kv.Modified), kv.Key
}

// beyond is the key after which a list goes on: over what is below a level. What begins with these bytes is of the same level.
func beyond(last, level string) string {
	if level == "" {
		return last
	}
	return max(last, level+"\xff\xff\xff\xff")
}

// nextLevel is the prefix below keys that holds a key; empty: the key is of the level itself.
func nextLevel(keys keyrange.Range, key string) string {
	rest := strings.TrimPrefix(key, keys.String())
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return keys.String() + rest[:i+1]
	}
	return ""
}

// tag is what changes whenever an answer would. Of a key it is its revision, which If-Match takes. Of a prefix it is the newest
// of its keys' and their number: as long as the newest stays, keys can only go, and then there are less. Empty: a page does not
// tell.
func (f *keysFound) tag(q keyrange.Query) string {
	switch {
	case !q.Keys.IsPrefix() && f.count == 1:
		return `"` + strconv.FormatInt(int64(f.modified), 10) + `"`
	case f.more > 0 || q.After != "" || q.Count || q.Level:
		return ""
	}
	return fmt.Sprintf(`"%d.%d"`, f.modified, f.count)
}

// document is the answer.
func (f *keysFound) document(q keyrange.Query) []byte {
	out := strconv.AppendInt([]byte(`{"revision":`), int64(f.revision), 10)
	if q.Count {
		return append(strconv.AppendInt(append(out, `,"count":`...), f.chosen+f.more, 10), '}')
	}
	out = append(out, `,"items":[`...)
	for i, item := range f.items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	out = append(out, ']')
	if f.more > 0 {
		out = append(append(append(out, `,"continue":"`...), keyrange.Continue(f.revision, f.last)...), '"')
	}
	return append(out, '}')
}

// matches tells whether a tag is among those of If-Match or If-None-Match.
func matches(header []string, tag string) bool {
	for _, line := range header {
		tags := strings.Split(line, ",")
		if slices.ContainsFunc(tags, func(given string) bool {
			given = strings.TrimPrefix(strings.TrimSpace(given), "W/")
			return given == "*" || given == tag
		}) {
			return true
		}
	}
	return false
}
