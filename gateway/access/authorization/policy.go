package authorization

import (
	"cmp"
	"slices"
)

// Policy is a set of grants. It is immutable.
type Policy struct {
	users, groups map[string][]grant
}

// grant is a role of a subject.
type grant struct {
	binding   string // for the reason of a review
	role      *role
	namespace string // empty: everywhere
}

type role struct {
	name  string
	rules []Rule
}

// Allows reports whether a user may make a request, and returns the binding that allows it; of several keys, that of the first one.
func (p *Policy) Allows(user string, groups []string, r Attributes) (binding string, ok bool) {
	for _, key := range r.Keys {
		if _, ok = p.Allows(user, groups, Attributes{Verb: r.Verb, Key: key}); !ok {
			return "", false
		}
	}
	for _, g := range p.grants(user, groups) {
		if g.namespace != "" && (r.Resource == "" || g.namespace != r.Namespace) {
			continue
		}
		for i := range g.role.rules {
			if g.role.rules[i].allows(r) {
				return g.binding, true
			}
		}
	}
	return "", false
}

// Rules returns the rules of a user in a namespace and outside of namespaces, in the order of the bindings' names.
func (p *Policy) Rules(user string, groups []string, namespace string) []Rule {
	var found []grant
	for _, g := range p.grants(user, groups) {
		if g.namespace == "" || g.namespace == namespace {
			found = append(found, g)
		}
	}
	slices.SortStableFunc(found, func(a, b grant) int { return cmp.Compare(a.binding, b.binding) })
	var rules []Rule
	for _, g := range found {
		rules = append(rules, g.role.rules...)
	}
	return rules
}

// grants returns the grants of a user and of the groups.
func (p *Policy) grants(user string, groups []string) []grant {
	all := slices.Clip(p.users[user])
	for _, group := range groups {
		all = append(all, p.groups[group]...)
	}
	return all
}
