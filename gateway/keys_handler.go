package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/access/authorization"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/keys/timeline"
	"revtail/gateway/watchcache"
)

// keysPath is where the plain dialect begins: what follows is a key of etcd.
const keysPath = "/v1/keys"

// keysOpenAPI is the description of the plain dialect.
var keysOpenAPI = sync.OnceValue(func() representation { return represent(jsonType, keyrange.OpenAPI()) })

func serveKeysOpenAPI(w http.ResponseWriter, r *http.Request) { keysOpenAPI().serve(w, r) }

// isPlainPath tells whether a URL is of the plain dialect.
func isPlainPath(path string) bool { return path == "/v1" || strings.HasPrefix(path, "/v1/") }

var errNoPlainPath = &apierrors.StatusError{ErrStatus: *newStatus(http.StatusNotFound, metav1.StatusReasonNotFound,
	"there is nothing here: the plain dialect is at /v1/keys and /v1/txn, and described at /v1/openapi.json")}

// revisionHeader says as of which revision an answer is, also where it has no body.
const revisionHeader = "Revtail-Revision"

var keysMethods = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete}

// serveKeys answers the plain dialect: any key of etcd, without a word about resources.
func (s *Server) serveKeys(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(keysMethods, r.Method) {
		refuseMethod(w, r, strings.Join(keysMethods, ", "))
		return
	}
	query, err := keyrange.ParseQuery(r.Method, strings.TrimPrefix(r.URL.Path, keysPath), queryOf(r))
	if err != nil {
		s.responder.fail(w, r, badRequest("%v", err))
		return
	}
	switch {
	case r.Method == http.MethodGet && query.Wait > 0:
		s.servePoll(w, r, query)
	case r.Method == http.MethodGet && query.Watch:
		s.serveKeysWatch(w, r, query)
	case r.Method == http.MethodGet:
		s.serveKeysRead(w, r, query)
	case r.Method == http.MethodPut:
		s.serveKeyPut(w, r, query)
	default:
		s.serveKeyDelete(w, r, query)
	}
}

// permitKeys is asked once for each range of keys that a request of the plain dialect is about, before anything is read or
// written of it; verb is get, list, watch, update or delete. The error is one for fail.
func (s *Server) permitKeys(r *http.Request, verb string, keys keyrange.Range) error {
	requestLogOf(r).about(verb, keys)
	if c := callerOf(r); c != nil {
		if err := s.access.permit(c.identity, authorization.Request{Verb: verb, Key: keys.String()}); err != nil {
			return err
		}
	}
	if verb == "update" || verb == "delete" {
		if err := s.options.Claim.CheckMethod(http.MethodPut); err != nil {
			return err
		}
		return s.opened.Write(keys)
	}
	return s.opened.Read(keys)
}

// keyOf is a key as the plain dialect shows it.
func keyOf(kv etcdstore.KV, withoutValue bool) encoding.KeyValue {
	return encoding.KeyValue{Key: kv.Key, Value: kv.Value, Created: int64(kv.Created), Modified: int64(kv.Modified),
		Version: kv.Version, Lease: kv.Lease, NoValue: withoutValue}
}

// respondPlain writes a document as of a revision.
func (s *Server) respondPlain(w http.ResponseWriter, r *http.Request, revision etcdstore.Revision, document []byte) {
	w.Header().Set(revisionHeader, strconv.FormatInt(int64(revision), 10))
	send(newPayload(w, r, http.StatusOK, s.responder.compressors), formatOf(r), document)
}

// writeProblem writes an error as RFC 9457 has it.
func writeProblem(w http.ResponseWriter, r *http.Request, status *metav1.Status, err error) {
	p := newPayload(w, r, int(status.Code), nil)
	w.Header().Set("Content-Type", "application/problem+json")
	var open []string
	if denied := new(keyrange.DeniedError); errors.As(err, &denied) {
		open = denied.Open
	}
	p.Bytes = encoding.AppendProblem(p.Bytes, int(status.Code), string(status.Reason), status.Message, open...)
	p.finish()
}

// plainStatus is toStatus in the words of the plain dialect, which knows revisions but no lists and objects.
func plainStatus(err error) *metav1.Status {
	var (
		denied    *keyrange.DeniedError
		compacted *etcdstore.CompactedError
		expired   *watchcache.ExpiredError
		reverted  *watchcache.RevertedError
		future    *etcdstore.FutureError
		tooLarge  *watchcache.TooLargeError
		conflict  *etcdstore.ConflictError
		before    *timeline.BeforeError
	)
	switch {
	case errors.As(err, &before):
		return newStatus(http.StatusGone, metav1.StatusReasonExpired, before.Error())
	case errors.As(err, &denied):
		return newStatus(http.StatusForbidden, metav1.StatusReasonForbidden, denied.Error())
	case errors.As(err, &compacted):
		return compactedStatus(compacted.Requested, compacted.Compacted)
	case errors.As(err, &expired):
		return compactedStatus(expired.Requested, expired.Oldest)
	case errors.As(err, &reverted):
		return newStatus(http.StatusGone, metav1.StatusReasonExpired, fmt.Sprintf(
			"revision %d is of another history than etcd's, which is at %d now, as after a restore: read again without since", reverted.Requested, reverted.Current))
	case errors.As(err, &future):
		return unreached(future.Requested, future.Current)
	case errors.As(err, &tooLarge):
		return unreached(tooLarge.Requested, tooLarge.Current)
	case errors.As(err, &conflict):
		return unmet(conflict.KV.Modified)
	case errors.Is(err, etcdstore.ErrTooLarge):
		return newStatus(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
			"the value is larger than etcd accepts in one request (its --max-request-bytes, 1.5 MiB unless changed)")
	case errors.Is(err, etcdstore.ErrInvalid):
		return newStatus(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	return toStatus(err)
}

func compactedStatus(requested, oldest etcdstore.Revision) *metav1.Status {
	text := fmt.Sprintf("revision %d has been compacted by etcd", requested)
	if oldest > 0 {
		text += fmt.Sprintf(", which holds %d and later", oldest)
	}
	return newStatus(http.StatusGone, metav1.StatusReasonExpired, text+": read the state again, without since or at, and go on from its revision")
}

// unmet says what stands against If-Match or If-None-Match; zero: there is no such key.
func unmet(stands etcdstore.Revision) *metav1.Status {
	text := fmt.Sprintf("the key is at revision %d, which is not what If-Match or If-None-Match demands: read it and try again", stands)
	if stands == 0 {
		text = "there is no such key, and If-Match demands one: If-None-Match: * makes it"
	}
	return newStatus(http.StatusPreconditionFailed, "PreconditionFailed", text)
}

func unreached(requested, current etcdstore.Revision) *metav1.Status {
	text := fmt.Sprintf("revision %d is not reached yet", requested)
	if current > 0 {
		text += fmt.Sprintf(", the newest is %d", current)
	}
	return retryable(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, text+": try again", 1)
}
