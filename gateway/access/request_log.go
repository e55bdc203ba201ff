package access

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"revtail/gateway/access/audit"
	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/resource"
)

type requestLogKey struct{}

// RequestLog logs a request when it ends: a line at debug level, and a record of the audit log. A nil RequestLog does nothing.
type RequestLog struct {
	logger        *slog.Logger // nil: no line
	audit         *audit.Log   // nil: no record
	began         time.Time
	method, path  string
	query         string // without secrets
	client, agent string
	id            string
	bytes         int64 // the Content-Length; negative: unknown
	status        int
	detached      bool

	caller *Caller  // nil: the request was not authenticated
	keys   []string // of the keys API, each after its verb

	mu          sync.Mutex // guards annotations
	annotations map[string]string
}

// Log logs requests when they end, and detached ones also when they begin.
func (c *Control) Log(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		debug := c.logger.Enabled(r.Context(), slog.LevelDebug)
		if !debug && c.audit == nil {
			next.ServeHTTP(w, r)
			return
		}
		recorded, w := response.Record(w)
		l := &RequestLog{
			audit: c.audit, began: time.Now(), method: r.Method, path: r.URL.Path, query: request.Redact(r.URL.RawQuery),
			client: r.RemoteAddr, agent: r.UserAgent(), id: w.Header().Get("Audit-Id"), bytes: r.ContentLength,
		}
		if debug {
			l.logger = c.logger
		}
		defer func() {
			if !l.detached {
				l.status = cmp.Or(l.status, max(recorded.Status, http.StatusOK))
				l.End()
			}
		}()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestLogKey{}, l)))
	})
}

// RequestLogOf returns the log of a request; nil: the request is not logged.
func RequestLogOf(r *http.Request) *RequestLog {
	l, _ := r.Context().Value(requestLogKey{}).(*RequestLog)
	return l
}

// AddKeys adds a range of keys that the request uses, and the verb of the use.
func (l *RequestLog) AddKeys(verb string, keys keyrange.Range) {
	if l != nil && l.audit != nil {
		l.keys = append(l.keys, verb+" "+keys.String())
	}
}

// Annotate adds an annotation to the record of the request. It may be called by several goroutines.
func (l *RequestLog) Annotate(key, value string) {
	if l == nil || l.audit == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.annotations == nil {
		l.annotations = make(map[string]string)
	}
	l.annotations[key] = value
}

// SetUpgraded records that the connection is another protocol's from now on, of which no header is written here.
func (l *RequestLog) SetUpgraded() {
	if l != nil {
		l.status = http.StatusSwitchingProtocols
	}
}

// Detach is for a stream that outlives its handler: the caller calls End. It records that the stream has started.
func (l *RequestLog) Detach() {
	if l != nil {
		l.detached, l.status = true, http.StatusOK
		l.record(audit.Started)
	}
}

// SetError sets the error with which a request ends whose header was sent.
func (l *RequestLog) SetError(why error) {
	if l != nil {
		l.status = int(status.Of(why).Code)
	}
}

// End logs a detached request, which has ended.
func (l *RequestLog) End() {
	if l == nil {
		return
	}
	if l.logger != nil {
		l.logger.Debug("request", "method", l.method, "path", l.path, "query", l.query, "status", l.status, "duration", time.Since(l.began),
			"client", l.client, "agent", l.agent, "audit", l.id)
	}
	l.record(audit.Complete)
}

// record writes a record of the audit log. Successful health checks have none, because they are frequent and anonymous.
func (l *RequestLog) record(stage string) {
	if l.audit == nil || l.status == http.StatusOK && slices.Contains(HealthPaths, l.path) {
		return
	}
	r := audit.Record{
		ID: l.id, Stage: stage, URI: l.path, Verb: l.method, Addresses: []string{hostOf(l.client)}, Agent: l.agent,
		Status: &audit.Status{Code: l.status}, Received: l.began.UTC(), At: time.Now().UTC(),
	}
	r.Annotations = l.annotated()
	if l.audit.Full() {
		if l.query != "" {
			r.URI += "?" + l.query
		}
		r.Annotations["revtail/request-bytes"] = strconv.FormatInt(l.bytes, 10)
	}
	if c := l.caller; c != nil {
		r.Verb, r.Object = c.info.Attributes.Verb, objectOf(c.info.Attributes)
		r.User = auditUser(c.Real)
		if c.Identity != c.Real {
			impersonated := auditUser(c.Identity)
			r.Impersonated = &impersonated
		}
		r.Annotations["authorization.k8s.io/decision"] = map[bool]string{true: "forbid", false: "allow"}[l.status == http.StatusForbidden]
		if keys := l.keysOf(c.info.Attributes); keys != "" {
			r.Annotations["revtail/keys"] = keys
		}
	}
	l.audit.Write(r)
}

// annotated returns the annotations of a record.
func (l *RequestLog) annotated() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]string, len(l.annotations))
	maps.Copy(out, l.annotations)
	return out
}

func auditUser(i *authentication.Identity) audit.User {
	return audit.User{Name: i.Name, UID: i.UID, Groups: i.Groups, Extra: i.Extra}
}

// collectorName is the user of the garbage collector's deletions in the audit log.
const collectorName = "system:revtail:garbage-collector"

// AuditOwn records a deletion that the server has made without a client's request, and its reason.
func (c *Control) AuditOwn(res *resource.Resource, scope resource.Scope, because string) {
	if c.audit == nil {
		return
	}
	now := time.Now().UTC()
	c.audit.Write(audit.Record{
		ID: uuid.NewString(), Stage: audit.Complete, URI: res.URL(scope), Verb: "delete", User: audit.User{Name: collectorName},
		Object: &audit.Object{Resource: res.Plural, Namespace: scope.Namespace, Name: scope.Name, Group: res.Group},
		Status: &audit.Status{Code: http.StatusOK}, Received: now, At: now,
		Annotations: map[string]string{"revtail/because": because},
	})
}

// keysOf returns the keys of a request: those of its URL if it was refused before its handler named any.
func (l *RequestLog) keysOf(a authorization.Attributes) string {
	if len(l.keys) == 0 && a.Key != "" {
		return a.Verb + " " + strings.Join(append([]string{a.Key}, a.Keys...), ", ")
	}
	return strings.Join(l.keys, ", ")
}

func objectOf(a authorization.Attributes) *audit.Object {
	if a.Resource == "" {
		return nil
	}
	return &audit.Object{Resource: a.Resource, Namespace: a.Namespace, Name: a.Name, Group: a.Group, Subresource: a.Subresource}
}

// hostOf returns an address without its port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
