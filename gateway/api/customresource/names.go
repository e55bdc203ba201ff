package customresource

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"revtail/gateway/resource"
)

// Conflict says which name of a definition another resource has. The zero value: none.
type Conflict struct {
	Reason  string // as in the condition NamesAccepted
	Message string
}

// Accept returns the conflicts of definitions, by name. Within a group a name belongs to a built-in resource, else to the definition that
// was accepted before, else to the older one. All replicas decide alike.
func Accept(definitions []*Definition, builtin []*resource.Resource) map[string]Conflict {
	taken := map[string]names{}
	for _, res := range builtin {
		taken[res.Group] = taken[res.Group].with(res.Plural, res.Singular, res.ShortNames, res.Kind, res.ListKind())
	}
	verdicts := make(map[string]Conflict, len(definitions))
	for _, d := range slices.SortedFunc(slices.Values(definitions), bySeniority) {
		group, n := d.V1.Spec.Group, d.V1.Spec.Names
		conflict := taken[group].conflict(n)
		if conflict == (Conflict{}) {
			taken[group] = taken[group].with(n.Plural, n.Singular, n.ShortNames, n.Kind, n.ListKind)
		}
		verdicts[d.V1.Name] = conflict
	}
	return verdicts
}

// bySeniority sorts accepted definitions before others, and then older ones before younger ones.
func bySeniority(a, b *Definition) int {
	rank := func(d *Definition) int {
		if apihelpers.IsCRDConditionTrue(d.V1, apiextensionsv1.NamesAccepted) {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), a.V1.CreationTimestamp.Compare(b.V1.CreationTimestamp.Time), strings.Compare(a.V1.Name, b.V1.Name))
}

// names are the names in one group: of resources, and of kinds.
type names struct{ resources, kinds []string }

func (n names) with(plural, singular string, short []string, kind, listKind string) names {
	n.resources = append(append(slices.Clip(n.resources), plural, singular), short...)
	n.kinds = append(slices.Clip(n.kinds), kind, listKind)
	return n
}

func (n names) conflict(wanted apiextensionsv1.CustomResourceDefinitionNames) Conflict {
	inUse := func(reason, name string) Conflict { return Conflict{reason, fmt.Sprintf("%q is already in use", name)} }
	switch {
	case slices.Contains(n.resources, wanted.Plural):
		return inUse("PluralConflict", wanted.Plural)
	case slices.Contains(n.resources, wanted.Singular):
		return inUse("SingularConflict", wanted.Singular)
	case slices.Contains(n.kinds, wanted.Kind):
		return inUse("KindConflict", wanted.Kind)
	case slices.Contains(n.kinds, wanted.ListKind):
		return inUse("ListKindConflict", wanted.ListKind)
	}
	for _, short := range wanted.ShortNames {
		if slices.Contains(n.resources, short) {
			return inUse("ShortNamesConflict", short)
		}
	}
	return Conflict{}
}
