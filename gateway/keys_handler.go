package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/claim"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/keys/timeline"
	"revtail/gateway/metrics"
	"revtail/gateway/watchcache/filter"
)

// keysHandler serves the keys API, /v1/keys and /v1/txn, which reads, writes and watches any key of etcd.
type keysHandler struct {
	keys      *authorizedKeys
	timeline  *timeline.Timeline
	filters   *filter.Cache
	watches   *watchService
	responder *responder
	budget    memoryBudget
}

// keysConfig says what a keysHandler serves. Every field is needed.
type keysConfig struct {
	store     etcdstore.Store  // for what clients ask for
	own       etcdstore.Store  // for the timeline
	policy    *keyrange.Policy // of the flags
	access    *control
	claim     *claim.Claim
	filters   *filter.Cache
	watches   *watchService
	responder *responder
	logger    *slog.Logger
}

func newKeysHandler(c keysConfig) *keysHandler {
	return &keysHandler{
		keys:     &authorizedKeys{access: c.access, policy: c.policy, claim: c.claim, store: c.store, caches: newRangeCaches(c.store, c.logger)},
		timeline: timeline.New(c.own, c.logger), filters: c.filters, watches: c.watches, responder: c.responder,
	}
}

// start lets watches begin, and keeps their caches and the timeline up to date until ctx ends. running waits for the end.
func (h *keysHandler) start(ctx context.Context, running *sync.WaitGroup) {
	h.keys.caches.start(ctx, running)
	if h.keys.policy.IsEmpty() {
		return // no request can ask for a time
	}
	running.Go(func() {
		if h.keys.claim.WaitOwned(ctx) == nil {
			h.timeline.Run(ctx)
		}
	})
}

// figures returns the sum of all caches for /metrics, if there are any: the metrics do not show which keys are watched.
func (h *keysHandler) figures() []metrics.Cache { return h.keys.caches.figures() }

// keysOpenAPI is the OpenAPI document of the keys API.
var keysOpenAPI = sync.OnceValue(func() representation { return represent(jsonType, keyrange.OpenAPI()) })

func serveKeysOpenAPI(w http.ResponseWriter, r *http.Request) { keysOpenAPI().serve(w, r) }

var keysMethods = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete}

// serveKeys answers /v1/keys.
func (h *keysHandler) serveKeys(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(keysMethods, r.Method) {
		refuseMethod(w, r, strings.Join(keysMethods, ", "))
		return
	}
	query, err := keyrange.ParseQuery(r.Method, strings.TrimPrefix(r.URL.Path, keysPath), queryOf(r))
	switch {
	case err != nil:
		err = badRequest("%v", err)
	case r.Method == http.MethodPut:
		err = h.put(w, r, query)
	case r.Method == http.MethodDelete:
		err = h.delete(w, r, query)
	case query.Wait > 0:
		err = h.poll(w, r, query)
	case query.Watch:
		err = h.watch(w, r, query)
	default:
		err = h.read(w, r, query)
	}
	if err != nil {
		h.responder.fail(w, r, err)
	}
}

// keyValue converts a key of etcd to its JSON form.
func keyValue(kv etcdstore.KV, withoutValue bool) encoding.KeyValue {
	return encoding.KeyValue{Key: kv.Key, Value: kv.Value, Created: int64(kv.Created), Modified: int64(kv.Modified),
		Version: kv.Version, Lease: kv.Lease, NoValue: withoutValue}
}

// respond writes a document that shows the state at a revision.
func (h *keysHandler) respond(w http.ResponseWriter, r *http.Request, revision etcdstore.Revision, f format, document []byte) {
	w.Header().Set(revisionHeader, strconv.FormatInt(int64(revision), 10))
	send(newPayload(w, r, http.StatusOK, h.responder.compressors), f, document)
}
