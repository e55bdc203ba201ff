package access

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"revtail/gateway/access/audit"
	"revtail/gateway/access/authorization"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/resource"
)

type requestLogKey struct{}

// RequestLog is what is said about a request when it ends: a line of the log at debug level, and a record of the audit log.
type RequestLog struct {
	logger        *slog.Logger // nil: no line is wanted
	audit         *audit.Log   // nil: no record
	began         time.Time
	method, path  string
	query         string // without secrets
	client, agent string
	id            string
	bytes         int64 // of the body, as far as it was said
	status        int
	kept          bool

	caller *Caller  // nil: not found out, or nobody wants to know
	keys   []string // of the keys API, each after the verb of what is done to it
}

// Log has requests written down when they end: a watch also when it begins.
func (c *Control) Log(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		debug := c.logger.Enabled(r.Context(), slog.LevelDebug)
		if !debug && c.audit == nil {
			next.ServeHTTP(w, r)
			return
		}
		recorded, w := response.Record(w)
		a := &RequestLog{
			audit: c.audit, began: time.Now(), method: r.Method, path: r.URL.Path, query: request.Redact(r.URL.RawQuery),
			client: r.RemoteAddr, agent: r.UserAgent(), id: w.Header().Get("Audit-Id"), bytes: r.ContentLength,
		}
		if debug {
			a.logger = c.logger
		}
		defer func() {
			if !a.kept {
				a.status = max(recorded.Status, http.StatusOK)
				a.End()
			}
		}()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestLogKey{}, a)))
	})
}

// accessOf is nil, whose methods do nothing, where nothing is to be written down.
func RequestLogOf(r *http.Request) *RequestLog {
	a, _ := r.Context().Value(requestLogKey{}).(*RequestLog)
	return a
}

// setCaller says who makes the request.
func (a *RequestLog) setCaller(c *Caller) {
	if a != nil {
		a.caller = c
	}
}

// AddKeys says that the request is about a range of keys, and what it does to them.
func (a *RequestLog) AddKeys(verb string, keys keyrange.Range) {
	if a != nil && a.audit != nil {
		a.keys = append(a.keys, verb+" "+keys.String())
	}
}

// Detach leaves it to the caller to end the request, which goes on when its handler has returned.
func (a *RequestLog) Detach() {
	if a != nil {
		a.kept, a.status = true, http.StatusOK
		a.record(audit.Started)
	}
}

// SetError says that the request ends for another reason than its handler knew.
func (a *RequestLog) SetError(why error) {
	if a != nil {
		a.status = int(status.Of(why).Code)
	}
}

func (a *RequestLog) End() {
	if a == nil {
		return
	}
	if a.logger != nil {
		a.logger.Debug("request", "method", a.method, "path", a.path, "query", a.query, "status", a.status, "duration", time.Since(a.began),
			"client", a.client, "agent", a.agent, "audit", a.id)
	}
	a.record(audit.Complete)
}

// record writes a record, unless it would be one of a health check that went well: there are many, and of nobody.
func (a *RequestLog) record(stage string) {
	if a.audit == nil || a.status == http.StatusOK && slices.Contains(HealthPaths, a.path) {
		return
	}
	r := audit.Record{
		ID: a.id, Stage: stage, URI: a.path, Verb: a.method, Addresses: []string{hostOf(a.client)}, Agent: a.agent,
		Status: &audit.Status{Code: a.status}, Received: a.began.UTC(), At: time.Now().UTC(),
	}
	r.Annotations = make(map[string]string)
	if a.audit.Full() {
		if a.query != "" {
			r.URI += "?" + a.query
		}
		r.Annotations["revtail/request-bytes"] = strconv.FormatInt(a.bytes, 10)
	}
	if c := a.caller; c != nil {
		r.Verb, r.Object = c.info.Attributes.Verb, objectOf(c.info.Attributes)
		r.User = audit.User{Name: c.Identity.Name, UID: c.Identity.UID, Groups: c.Identity.Groups}
		r.Annotations["authorization.k8s.io/decision"] = map[bool]string{true: "forbid", false: "allow"}[a.status == http.StatusForbidden]
		if keys := a.keysOf(c.info.Attributes); keys != "" {
			r.Annotations["revtail/keys"] = keys
		}
	}
	a.audit.Write(r)
}

// collectorName is who deletes, in the audit log, what no client has asked for by name.
const collectorName = "system:revtail:garbage-collector"

// AuditOwn records that the server has deleted an object without a client's request, and why.
func (a *Control) AuditOwn(res *resource.Resource, scope resource.Scope, because string) {
	if a.audit == nil {
		return
	}
	now := time.Now().UTC()
	a.audit.Write(audit.Record{
		ID: uuid.NewString(), Stage: audit.Complete, URI: res.URL(scope), Verb: "delete", User: audit.User{Name: collectorName},
		Object: &audit.Object{Resource: res.Plural, Namespace: scope.Namespace, Name: scope.Name, Group: res.Group},
		Status: &audit.Status{Code: http.StatusOK}, Received: now, At: now,
		Annotations: map[string]string{"revtail/because": because},
	})
}

// keysOf are the keys that a request is about, also where it was not let in so far that they were looked at.
func (a *RequestLog) keysOf(asks authorization.Attributes) string {
	if len(a.keys) == 0 && asks.Key != "" {
		return asks.Verb + " " + strings.Join(append([]string{asks.Key}, asks.Keys...), ", ")
	}
	return strings.Join(a.keys, ", ")
}

func objectOf(asks authorization.Attributes) *audit.Object {
	if asks.Resource == "" {
		return nil
	}
	return &audit.Object{Resource: asks.Resource, Namespace: asks.Namespace, Name: asks.Name, Group: asks.Group, Subresource: asks.Subresource}
}

// hostOf returns an address without its port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
