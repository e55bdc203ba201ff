package kinds

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/event"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"

	"revtail/gateway/resource"
)

// strategies are those of the kinds of package resource. Namespaces have none: their life cycle is that of the garbage collector.
var strategies = map[schema.GroupResource]strategy{
	{Resource: "configmaps"}: {object: configmap.Strategy},
	{Resource: "events"}:     {object: event.Strategy},
	{Resource: "namespaces"}: {},
	{Resource: "nodes"}:      {object: node.Strategy, status: node.StatusStrategy},
	{Resource: "pods"}: {object: pod.Strategy, status: pod.StatusStrategy, whole: map[string]updateStrategy{
		"ephemeralcontainers": pod.EphemeralContainersStrategy, "resize": pod.ResizeStrategy,
	}},
	{Resource: "secrets"}:                              {object: secret.Strategy},
	{Resource: "serviceaccounts"}:                      {object: serviceaccount.Strategy},
	{Resource: "services"}:                             {object: newServiceStrategy(), status: service.StatusStrategy},
	{Group: "apps", Resource: "daemonsets"}:            {object: daemonset.Strategy, status: daemonset.StatusStrategy},
	{Group: "apps", Resource: "deployments"}:           {object: deployment.Strategy, status: deployment.StatusStrategy},
	{Group: "apps", Resource: "replicasets"}:           {object: replicaset.Strategy, status: replicaset.StatusStrategy},
	{Group: "apps", Resource: "statefulsets"}:          {object: statefulset.Strategy, status: statefulset.StatusStrategy},
	{Group: "batch", Resource: "cronjobs"}:             {object: cronjob.Strategy, status: cronjob.StatusStrategy},
	{Group: "batch", Resource: "jobs"}:                 {object: job.Strategy, status: job.StatusStrategy},
	{Group: "coordination.k8s.io", Resource: "leases"}: {object: lease.Strategy},
	{Group: "events.k8s.io", Resource: "events"}:       {object: event.Strategy},
}

// attach gives a kind of package resource its strategy and its printer.
func attach(res *resource.Resource) {
	own := strategies[schema.GroupResource{Group: res.Group, Resource: res.Plural}]
	own.resource, own.kind = res, groupVersionKind(res)
	own.zero = zeroObject(own.kind, reflect.TypeOf(res.GoType))
	own.shareCopies()
	setDeletion(res)
	if own.object != nil {
		res.Strategy, res.Whole = &own, slices.Sorted(maps.Keys(own.whole))
		res.CreateOnUpdate, res.UnconditionalUpdate = updates(own.object)
	}
	res.Printer = printer{&own, tables(false)}
}
