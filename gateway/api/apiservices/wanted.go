package apiservices

import (
	"context"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"revtail/etcdstore"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// managedLabel is on each APIService that a server manages. Its value says when: once at the start, because what the server itself serves
// depends on its release, or at any time, because what CustomResourceDefinitions serve depends on etcd alone.
const (
	managedLabel     = "kube-aggregator.kubernetes.io/automanaged"
	managedAtStart   = "onstart"
	managedAtAnyTime = "true"
)

// wanted is an APIService that there should be.
type wanted struct {
	spec    apiregistrationv1.APIServiceSpec
	managed string
}

// nameOf returns the name of the APIService of a group and version.
func nameOf(gv schema.GroupVersion) string { return gv.Version + "." + gv.Group }

func want(gv schema.GroupVersion, p priority, managed string) wanted {
	return wanted{apiregistrationv1.APIServiceSpec{Group: gv.Group, Version: gv.Version, GroupPriorityMinimum: p.group, VersionPriority: p.version}, managed}
}

// wanted returns the APIServices that there should be, by name, as of a revision or later.
func (k *keeper) wanted(ctx context.Context, revision etcdstore.Revision) (map[string]wanted, error) {
	out := make(map[string]wanted)
	versions, err := k.defined(ctx, revision)
	if err != nil {
		return nil, err
	}
	for _, gv := range versions {
		out[nameOf(gv)] = want(gv, ofDefinitions, managedAtAnyTime)
	}
	for _, res := range slices.Concat(k.store.Catalog.Current().Registry.All(), resource.Virtual()) {
		gv := schema.GroupVersion{Group: res.Group, Version: res.Version}
		if !res.IsCustom() && gv != apiregistrationv1.SchemeGroupVersion { // of which a cluster has none either
			out[nameOf(gv)] = want(gv, priorityOf(gv), managedAtStart)
		}
	}
	return out, nil
}

// defined returns the groups and versions that CustomResourceDefinitions serve, as of a revision or later.
func (k *keeper) defined(ctx context.Context, revision etcdstore.Revision) (out []schema.GroupVersion, err error) {
	list, err := k.definitions.List(ctx, watchcache.ListQuery{AtLeast: revision})
	if err != nil {
		return nil, err
	}
	for _, served := range k.parsed.All(list, versionsOf) {
		out = append(out, served...)
	}
	return out, nil
}

// versionsOf returns the groups and versions that a CustomResourceDefinition serves; none if another program has stored what is none.
func versionsOf(definition *watchcache.Object) (out []schema.GroupVersion) {
	var parsed struct {
		Spec struct {
			Group    string `json:"group"`
			Versions []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if json.Unmarshal(definition.JSON, &parsed) != nil {
		return nil
	}
	for _, version := range parsed.Spec.Versions {
		if version.Served {
			out = append(out, schema.GroupVersion{Group: parsed.Spec.Group, Version: version.Name})
		}
	}
	return out
}
