package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"revtail/gateway/access"
	"revtail/gateway/console"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/resource"
)

// forward sends requests that the server does not answer itself to the kube-apiserver, if there is one. It runs before CleanPath, because the
// kube-apiserver gets the URL as the client has written it.
func (h *handlers) forward(next http.Handler) http.Handler {
	if h.upstream == nil {
		return next
	}
	forwarded := h.chain.AllowOrigins(h.chain.RefuseCrossOriginWrites(h.access.Identify(h.chain.ShareForwarded(h.upstream))))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodConnect:
			response.MethodNotAllowed(w, r, "GET, HEAD, POST, PUT, PATCH, DELETE")
		case h.answers(r):
			next.ServeHTTP(w, r)
		default:
			forwarded.ServeHTTP(w, r)
		}
	})
}

// answers reports whether the server answers a request itself: one at a path of its own, or a get, list or watch of a served resource by a user
// who shows a credential. Anonymous requests are the kube-apiserver's, because it alone knows whether and where it allows them. It also decides about
// impersonation by other verbs than impersonate.
func (h *handlers) answers(r *http.Request) bool {
	escaped := r.URL.EscapedPath()
	segments, err := resource.ParsePath(escaped)
	if err != nil {
		return request.IsKeysAPI(escaped)
	}
	read := *r
	read.URL = &url.URL{Path: request.DecodePath(escaped, segments), RawQuery: r.URL.RawQuery}
	if h.isOwn(&read) {
		return true
	}
	return h.reads(request.ParseInfo(&read), r.Method) && h.access.Authenticator.Presents(r) &&
		(!access.Impersonates(r) || h.access.MayImpersonate(r))
}

// ownPaths are the paths, with all below them, that the kube-apiserver has too or has not, and the server answers.
var ownPaths = append([]string{"/metrics", "/v1", strings.TrimSuffix(console.Path, "/"), console.IconPath}, access.HealthPaths...)

// isOwn reports whether a request is about the server itself, its console or the keys API.
func (h *handlers) isOwn(r *http.Request) bool {
	path := r.URL.Path
	if path == "/" {
		return response.WantsHTML(r)
	}
	return slices.ContainsFunc(ownPaths, func(own string) bool { return path == own || strings.HasPrefix(path, own+"/") }) ||
		h.debug && slices.Contains(debugPaths, path)
}

// reads reports whether a request reads objects that the server holds. A mount is not known to the kube-apiserver, which gets no request for it. The
// webhooks that convert custom resources are services in the cluster as a rule, which the kube-apiserver alone reaches. The resources in forwarded are
// in another etcd.
func (h *handlers) reads(info *request.Info, method string) bool {
	found := h.api.Catalog.Current().Registry.Lookup(info.Group, info.Version, info.Attributes.Resource)
	if found == nil || info.Attributes.Resource == "" {
		return false
	}
	ref := resource.Ref{Resource: found, Scope: info.Scope, Subresource: info.Attributes.Subresource}
	switch {
	case found.Mount != nil:
		return true
	case method != http.MethodGet, found.Virtual, ref.Misplaced(), found.Conversion != nil, slices.Contains(h.forwarded, ref.GroupResource()):
		return false
	case ref.Subresource == "":
		return true
	}
	return ref.HasSubresource() && !ref.ViewKind().Virtual && ref.Subresource != resource.FinalizeSubresource
}
