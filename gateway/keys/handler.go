package keys

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
	"revtail/gateway/access"
	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/claim"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/keys/timeline"
	"revtail/gateway/metrics"
	"revtail/gateway/watch"
	"revtail/gateway/watchcache/filter"
)

// Handler serves the keys API, /v1/keys and /v1/txn, which reads, writes and watches any key of etcd.
type Handler struct {
	keys      *authorizedKeys
	timeline  *timeline.Timeline
	filters   *filter.Cache
	watches   *watch.Service
	responder *response.Responder
	responses *flowcontrol.Pool // of bytes
}

// Config says what a Handler serves. Every field is needed.
type Config struct {
	Store     etcdstore.Store // for what clients ask for
	Timeline  *timeline.Timeline
	Policy    *keyrange.Policy // of the flags
	Access    *access.Control
	Flows     *flowcontrol.Pools
	Claim     *claim.Claim
	Filters   *filter.Cache
	Watches   *watch.Service
	Responder *response.Responder
	Logger    *slog.Logger
}

// New returns a handler that serves reads and writes; watches begin after Start.
func New(c Config) *Handler {
	return &Handler{
		keys:     &authorizedKeys{access: c.Access, policy: c.Policy, claim: c.Claim, store: c.Store, caches: newRangeCaches(c.Store, c.Logger, c.Flows)},
		timeline: c.Timeline, filters: c.Filters, watches: c.Watches, responder: c.Responder,
		responses: c.Flows.ResponseBytes,
	}
}

// Start lets watches begin, and keeps their caches and the timeline up to date until ctx ends. running waits for the end.
func (h *Handler) Start(ctx context.Context, running *sync.WaitGroup) {
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

// Figures returns the sum of all caches for /metrics, if there are any: the metrics do not show which keys are watched.
func (h *Handler) Figures() []metrics.Cache { return h.keys.caches.figures() }

// keysOpenAPI is the OpenAPI document of the keys API.
var keysOpenAPI = sync.OnceValue(func() response.Document { return response.NewDocument(response.JSON, keyrange.OpenAPI()) })

// ServeOpenAPI answers with the description of the keys API.
func ServeOpenAPI(w http.ResponseWriter, r *http.Request) { keysOpenAPI().Serve(w, r) }

var keysMethods = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete}

// ServeKeys answers /v1/keys.
func (h *Handler) ServeKeys(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(keysMethods, r.Method) {
		response.MethodNotAllowed(w, r, strings.Join(keysMethods, ", "))
		return
	}
	info := access.InfoOf(r)
	query, err := *info.Keys, info.KeysErr
	switch {
	case err != nil:
		err = status.BadRequest("%v", err)
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
		h.responder.Error(w, r, err)
	}
}

// keyValue converts a key of etcd to its JSON form.
func keyValue(kv etcdstore.KV, withoutValue bool) encoding.KeyValue {
	return encoding.KeyValue{Key: kv.Key, Value: kv.Value, Created: int64(kv.Created), Modified: int64(kv.Modified),
		Version: kv.Version, Lease: kv.Lease, NoValue: withoutValue}
}

// respond writes a document that shows the state at a revision.
func (h *Handler) respond(w http.ResponseWriter, r *http.Request, revision etcdstore.Revision, f response.Format, document []byte) {
	w.Header().Set(response.RevisionHeader, strconv.FormatInt(int64(revision), 10))
	response.WriteDocument(response.NewBody(w, r, http.StatusOK, h.responder.Compressors), f, document)
}
