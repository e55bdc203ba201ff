package access

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/http/status"
)

// The headers of Kubernetes with which a user asks to act as another one (kubectl --as).
const (
	impersonatePrefix = "Impersonate-"
	impersonateUser   = "Impersonate-User"
	impersonateGroup  = "Impersonate-Group"
	impersonateUID    = "Impersonate-Uid"
	impersonateExtra  = "Impersonate-Extra-"
)

// impersonates reports whether a request has one of these headers, or a similar one.
func impersonates(r *http.Request) bool {
	for name := range r.Header {
		if strings.HasPrefix(name, impersonatePrefix) {
			return true
		}
	}
	return false
}

// impersonation is another user, and the rights that are needed to act as that one.
type impersonation struct {
	as     authentication.Impersonated
	rights []authorization.Attributes
}

const serviceAccountPrefix = "system:serviceaccount:"

// parseImpersonation reads the headers of a request. The errors are Statuses, 400.
func parseImpersonation(header http.Header) (i impersonation, err error) {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		values := header[name]
		switch key, isExtra := strings.CutPrefix(name, impersonateExtra); {
		case isExtra:
			err = i.addExtra(key, values)
		case name == impersonateUser && len(values) > 1, name == impersonateUID && len(values) > 1:
			err = status.BadRequest("the header %s is given %d times: want it once", name, len(values))
		case name == impersonateUser:
			i.as.Name = values[0]
		case name == impersonateUID:
			i.as.UID = values[0]
			i.need("authentication.k8s.io", "uids", "", values[0])
		case name == impersonateGroup:
			for _, group := range values {
				i.as.Groups = append(i.as.Groups, group)
				i.need("", "groups", "", group)
			}
		case strings.HasPrefix(name, impersonatePrefix):
			err = status.BadRequest("unknown header %s: want %s, %s, %s or %sKEY", name, impersonateUser, impersonateGroup, impersonateUID, impersonateExtra)
		}
		if err != nil {
			return i, err
		}
	}
	if i.as.Name == "" {
		return i, status.BadRequest("requested to impersonate groups, a uid or extras without impersonating a user: add the header %s (kubectl --as)", impersonateUser)
	}
	i.addUser()
	return i, nil
}

// addUser adds the right to impersonate the user, and the groups that a service account has if none are given.
func (i *impersonation) addUser() {
	namespace, name, valid := strings.Cut(strings.TrimPrefix(i.as.Name, serviceAccountPrefix), ":")
	if !strings.HasPrefix(i.as.Name, serviceAccountPrefix) || !valid || namespace == "" || name == "" {
		i.need("", "users", "", i.as.Name)
		return
	}
	i.rights = append(i.rights, authorization.Attributes{Verb: "impersonate", Resource: "serviceaccounts", Namespace: namespace, Name: name})
	if len(i.as.Groups) == 0 {
		i.as.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}
	}
}

func (i *impersonation) addExtra(key string, values []string) error {
	key = strings.ToLower(key)
	if decoded, err := url.PathUnescape(key); err == nil {
		key = decoded
	}
	if key == "" {
		return status.BadRequest("the header %s has no key", impersonateExtra)
	}
	if i.as.Extra == nil {
		i.as.Extra = make(map[string][]string)
	}
	i.as.Extra[key] = append(i.as.Extra[key], values...)
	for _, value := range values {
		i.need("authentication.k8s.io", "userextras", key, value)
	}
	return nil
}

func (i *impersonation) need(group, resource, subresource, name string) {
	i.rights = append(i.rights, authorization.Attributes{Verb: "impersonate", Group: group, Resource: resource, Subresource: subresource, Name: name})
}

// impersonate lets a caller act as the user whom the headers of a request name, if the policy allows it. The errors are Statuses, 400 and 403.
func (c *Control) impersonate(caller *Caller, header http.Header) error {
	i, err := parseImpersonation(header)
	if err != nil {
		return err
	}
	caller.impersonating = i.rights
	if err := c.authorizeImpersonation(caller); err != nil {
		return err
	}
	identity, err := caller.Real.Impersonate(i.as)
	if err != nil {
		return status.BadRequest("%s and the other headers: %v", impersonateUser, err)
	}
	caller.Identity = identity
	return nil
}

// authorizeImpersonation returns a Status, 403, unless the user who made a request may act as the other one.
func (c *Control) authorizeImpersonation(caller *Caller) error {
	for _, right := range caller.impersonating {
		if err := c.Authorize(caller.Real, right); err != nil {
			return err
		}
	}
	return nil
}
