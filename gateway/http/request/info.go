package request

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/gateway/access/authorization"
	"revtail/gateway/console"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache/selector"
)

// Info is what a request asks for by its method and its URL. Authorization, the audit log and the handlers all use it, because a URL
// that two of them read differently would let a client do more than its rules allow.
type Info struct {
	Attributes          authorization.Attributes // as rules see the request
	schema.GroupVersion                          // of a resource, or of a discovery document
	Scope               resource.Scope           // of a resource: the namespace and the name in the path

	Keys    *keyrange.Query // of /v1/keys; nil elsewhere
	KeysErr error           // why Keys is refused, after the request is authorized
}

// verbs are what methods do to a resource or a key.
var verbs = map[string]string{
	http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// ParseInfo reads the method and the URL of a request as Kubernetes does. The URL must have passed middleware.CleanPath.
func ParseInfo(r *http.Request) *Info {
	i := &Info{Attributes: authorization.Attributes{Verb: strings.ToLower(r.Method), Path: r.URL.Path}}
	segments := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case segments[0] == "api" && len(segments) > 1:
		i.Version = segments[1]
		i.parseResource(r, segments[2:])
	case segments[0] == "apis" && len(segments) > 1:
		i.Group = segments[1]
		if len(segments) > 2 {
			i.Version = segments[2]
			i.parseResource(r, segments[3:])
		}
	case IsKeysPath(r.URL.Path):
		i.parseKeys(r)
	case r.URL.Path == HistoryPath:
		i.parseHistory(r)
	}
	return i
}

// selecting are the verbs of which selectors are attributes.
var selecting = []string{"list", "watch", "deletecollection"}

// parseResource reads the path below a group and version.
func (i *Info) parseResource(r *http.Request, rest []string) {
	if len(rest) == 0 {
		return
	}
	a := authorization.Attributes{Verb: verbs[r.Method], Group: i.Group, Version: i.Version}
	legacy := a.Verb == "get" && rest[0] == "watch" && len(rest) > 1 // the legacy form of a watch
	if legacy {
		a.Verb, rest = "watch", rest[1:]
	}
	if rest[0] == "namespaces" && len(rest) > 1 {
		a.Namespace = rest[1]
		if len(rest) > 2 && rest[2] != resource.StatusSubresource && rest[2] != resource.FinalizeSubresource { // these are the namespace's, and no resources in it
			i.Scope.Namespace, rest = rest[1], rest[2:]
		}
	}
	rest = append(rest[:len(rest):len(rest)], "", "")
	a.Resource, i.Scope.Name, a.Subresource = rest[0], rest[1], rest[2]
	if a.Name = i.Scope.Name; a.Name == "" {
		a.Verb = collectionVerb(r, a.Verb)
		if a.Verb != "create" {
			a.Name = selectedName(r)
		}
		if !legacy && slices.Contains(selecting, a.Verb) {
			a.FieldSelector, a.LabelSelector = Query(r).Get("fieldSelector"), Query(r).Get("labelSelector")
		}
	}
	i.Attributes = a
}

// collectionVerb is the verb of a request for a collection.
func collectionVerb(r *http.Request, verb string) string {
	switch {
	case verb == "delete":
		return "deletecollection"
	case verb == "get" && Bool(Query(r), "watch"):
		return "watch"
	case verb == "get":
		return "list"
	}
	return verb
}

// selectedName is the only name that the field selector of a collection admits; empty: it admits several. A rule for some names
// allows a request for the collection if it is about one of them.
func selectedName(r *http.Request) string {
	text := Query(r).Get("fieldSelector")
	if !strings.Contains(text, "metadata.name") {
		return ""
	}
	parsed, err := selector.Parse("", text)
	if err != nil {
		return "" // the handler refuses it
	}
	name, _ := parsed.Name()
	return name
}

// parseKeys reads a URL of keys. A request whose keys cannot be read is authorized for all keys, and refused by its handler.
func (i *Info) parseKeys(r *http.Request) {
	query, err := keyrange.ParseQuery(r.Method, strings.TrimPrefix(r.URL.Path, KeysPath), Query(r))
	i.Keys, i.KeysErr = &query, err
	a := authorization.Attributes{Verb: verbs[r.Method], Key: "/"}
	if len(query.All) > 0 {
		a.Key, a.Keys = query.All[0].String(), query.All[1:].Texts()
	}
	switch {
	case a.Verb == "get" && query.Watch:
		a.Verb = "watch"
	case a.Verb == "get" && strings.HasSuffix(a.Key, "/"):
		a.Verb = "list"
	}
	i.Attributes = a
}

// IsStream reports whether the request is a watch, and not a long poll.
func (i *Info) IsStream() bool {
	return i.Attributes.Verb == "watch" && (i.Keys == nil || i.Keys.Wait == 0)
}

// longRunning are the subresources whose requests last as long as their clients want.
var longRunning = []string{"attach", "exec", "log", "portforward", "proxy"}

// IsLongRunning reports whether a request lasts as long as its client wants, as kube-apiserver decides it.
func (i *Info) IsLongRunning() bool {
	return i.IsStream() || slices.Contains(longRunning, i.Attributes.Subresource)
}

// KeysPath is the root of the keys API. The rest of a path below it is a key of etcd.
const KeysPath = "/v1/keys"

// IsKeysPath reports whether a path names keys.
func IsKeysPath(path string) bool { return path == KeysPath || strings.HasPrefix(path, KeysPath+"/") }

// IsKeysAPI reports whether a path belongs to the keys API: /v1/keys, /v1/txn and all other paths below /v1.
func IsKeysAPI(path string) bool { return path == "/v1" || strings.HasPrefix(path, "/v1/") }

// DecodePath joins the decoded segments of an escaped path. It drops a slash at the end, except in a path of keys, where it marks a
// prefix, and in that of the console, whose files are relative to it.
func DecodePath(escaped string, segments []string) string {
	path := "/" + strings.Join(segments, "/")
	if (IsKeysPath(path) || path+"/" == console.Path) && strings.HasSuffix(escaped, "/") {
		path += "/"
	}
	return path
}

type headKey struct{}

// HeadIsGet makes handlers see HEAD as GET. net/http drops the body that they write.
func HeadIsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			r = r.WithContext(context.WithValue(r.Context(), headKey{}, true))
			r.Method = http.MethodGet
		}
		next.ServeHTTP(w, r)
	})
}

// IsHead reports whether the method is HEAD, so that no body is sent.
func IsHead(r *http.Request) bool { return r.Context().Value(headKey{}) != nil }

// Timeout limits every request that is not a watch.
const Timeout = 60 * time.Second
