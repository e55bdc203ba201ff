package access

import (
	"net/http"
	"strings"

	"revtail/gateway/access/authorization"
	"revtail/gateway/http/request"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/watchcache/selector"
)

// verbs are what methods do to a resource or a key.
var verbs = map[string]string{
	http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// AttributesOf says what a request asks for, as rules speak of it: it reads URLs as Kubernetes does. It sees them as middleware.CleanPath
// leaves them.
func AttributesOf(r *http.Request) authorization.Request {
	segments := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case segments[0] == "api" && len(segments) > 2:
		return resourceRequest(r, "", segments[2:])
	case segments[0] == "apis" && len(segments) > 3:
		return resourceRequest(r, segments[1], segments[3:])
	case segments[0] == "v1" && len(segments) > 1 && segments[1] == "keys":
		return keyRequest(r)
	}
	return authorization.Request{Verb: strings.ToLower(r.Method), Path: r.URL.Path}
}

func resourceRequest(r *http.Request, group string, rest []string) authorization.Request {
	a := authorization.Request{Verb: verbs[r.Method], Group: group}
	if a.Verb == "get" && rest[0] == "watch" && len(rest) > 1 {
		a.Verb, rest = "watch", rest[1:]
	}
	if rest[0] == "namespaces" && len(rest) > 1 {
		a.Namespace = rest[1]
		if len(rest) > 2 && rest[2] != "status" {
			rest = rest[2:]
		}
	}
	rest = append(rest[:len(rest):len(rest)], "", "")
	a.Resource, a.Name, a.Subresource = rest[0], rest[1], rest[2]
	if a.Name != "" {
		return a
	}
	switch a.Verb {
	case "get":
		if a.Verb = "list"; request.Bool(request.Query(r), "watch") {
			a.Verb = "watch"
		}
	case "delete":
		a.Verb = "deletecollection"
	}
	if a.Verb != "create" {
		a.Name = selectedName(r)
	}
	return a
}

// selectedName is the name that a field selector leaves of a collection. A rule for some names allows that much of it.
func selectedName(r *http.Request) string {
	text := request.Query(r).Get("fieldSelector")
	if !strings.Contains(text, "metadata.name") {
		return ""
	}
	parsed, err := selector.Parse("", text)
	if err != nil {
		return "" // and refused, as soon as it is known that its sender may list
	}
	name, _ := parsed.Name()
	return name
}

// keyRequest reads a URL of keys. One that cannot be read is refused by its handler; until then it is about everything.
func keyRequest(r *http.Request) authorization.Request {
	keys, err := keyrange.ParseAll(strings.TrimPrefix(r.URL.Path, request.KeysPath), request.Query(r))
	a := authorization.Request{Verb: verbs[r.Method], Key: "/"}
	if err == nil {
		a.Key, a.Keys = keys[0].String(), keys[1:].Texts()
	}
	if a.Verb != "get" {
		return a
	}
	switch query := request.Query(r); {
	case request.Bool(query, "watch") || query.Has("wait"):
		a.Verb = "watch"
	case strings.HasSuffix(a.Key, "/"):
		a.Verb = "list"
	}
	return a
}
