package authorization

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Rule allows verbs on resources, paths or keys. It is a PolicyRule of Kubernetes, or a rule for keys.
type Rule struct {
	rbacv1.PolicyRule
	// Keys are etcd keys and, where they end with "/", prefixes; "*" is every key.
	Keys []string `json:"keys,omitempty"`
}

func (u Rule) allows(r Attributes) bool {
	if !has(u.Verbs, r.Verb) {
		return false
	}
	switch {
	case r.Resource != "":
		inResources := has(u.Resources, r.resource()) || r.Subresource != "" && slices.Contains(u.Resources, "*/"+r.Subresource)
		return inResources && has(u.APIGroups, r.Group) && (len(u.ResourceNames) == 0 || slices.Contains(u.ResourceNames, r.Name))
	case r.Key != "":
		return slices.ContainsFunc(u.Keys, func(key string) bool { return covers(key, r.Key) })
	}
	return slices.ContainsFunc(u.NonResourceURLs, func(url string) bool { return matchesURL(url, r.Path) })
}

func has(names []string, name string) bool {
	return slices.Contains(names, "*") || slices.Contains(names, name)
}

// everyKey in a rule is every key, also of those that do not begin with a slash.
const everyKey = "*"

// covers reports whether a key, or a prefix that ends with "/", equals the key of a rule or is below it.
func covers(named, asked string) bool {
	return named == everyKey || named == asked || strings.HasSuffix(named, "/") && strings.HasPrefix(asked, named)
}

// matchesURL reports whether a path equals the path of a rule or, if that ends with *, begins with it.
func matchesURL(named, path string) bool {
	beginning, open := strings.CutSuffix(named, "*")
	return named == path || open && strings.HasPrefix(path, beginning)
}

// check refuses invalid rules. Only a rule for the whole gateway may have paths and keys.
func (u Rule) check(namespaced bool) error {
	kinds := 0
	for _, named := range [][]string{u.Resources, u.NonResourceURLs, u.Keys} {
		if len(named) > 0 {
			kinds++
		}
	}
	switch {
	case len(u.Verbs) == 0 || slices.Contains(u.Verbs, ""):
		return errors.New("verbs are missing")
	case kinds != 1:
		return errors.New("want one of resources, nonResourceURLs and keys")
	case len(u.Resources) > 0 && len(u.APIGroups) == 0:
		return errors.New(`apiGroups are missing; "" is the group of pods and configmaps`)
	case len(u.Resources) == 0 && len(u.APIGroups)+len(u.ResourceNames) > 0:
		return errors.New("apiGroups and resourceNames go with resources")
	case namespaced && len(u.Resources) == 0:
		return errors.New("nonResourceURLs and keys are in no namespace: put them into a ClusterRole")
	}
	for _, url := range u.NonResourceURLs {
		if url != "*" && !strings.HasPrefix(url, "/") || strings.Contains(strings.TrimSuffix(url, "*"), "*") {
			return fmt.Errorf("nonResourceURL %q: want a path, which may end with *", url)
		}
	}
	for _, key := range u.Keys {
		if err := checkKey(key); err != nil {
			return err
		}
	}
	return nil
}

func checkKey(key string) error {
	if key == "" || key != everyKey && strings.Contains(key, "*") {
		return fmt.Errorf("key %q: want a key, a prefix that ends with /, or %q for every key", key, everyKey)
	}
	return nil
}

// Anything are the rules that allow everything.
var Anything = []Rule{
	{PolicyRule: rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}},
	{PolicyRule: rbacv1.PolicyRule{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}},
}
