package admission

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/tools/cache"

	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/informer"
	"revtail/gateway/api/kinds"
)

// Usage counts what the objects of a namespace use of a quota, with the rules that the plugin of quotas has for a single object.
type Usage struct {
	catalog *catalog.Catalog
	rules   quota.Configuration
}

// Usage returns what counts, when Run has begun.
func (c *Chain) Usage(ctx context.Context) (*Usage, error) {
	select {
	case <-c.started:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own.quotaUsage()
}

// quotaUsage returns the Usage of all plugins.
func (s *surroundings) quotaUsage() (*Usage, error) {
	if s.usage != nil {
		return s.usage, nil
	}
	made := &Usage{catalog: s.Catalog}
	var err error
	lists := func(of schema.GroupVersionResource) (cache.GenericLister, error) {
		return lister{usage: made, of: of.GroupResource()}, nil
	}
	if made.rules, err = kinds.QuotaConfiguration(lists, s.informers); err != nil {
		return nil, err
	}
	s.usage = made
	return made, nil
}

// Resources returns the resources whose objects count for some limits, whether or not they are served.
func (u *Usage) Resources(limits corev1.ResourceList) (out []schema.GroupResource) {
	for _, e := range u.evaluators(limits) {
		out = append(out, e.GroupResource())
	}
	return out
}

// evaluators returns what counts for some limits: the rules of some kinds, and one for each count/plural.group.
func (u *Usage) evaluators(limits corev1.ResourceList) (out []quota.Evaluator) {
	names := quota.ResourceNames(limits)
	known := make(map[schema.GroupResource]bool)
	for ignored := range u.rules.IgnoredResources() {
		known[ignored] = true
	}
	for _, e := range u.rules.Evaluators() {
		known[e.GroupResource()] = true
		if len(e.MatchingResources(names)) > 0 {
			out = append(out, e)
		}
	}
	for _, name := range names {
		qualified, ok := strings.CutPrefix(string(name), "count/")
		if of := schema.ParseGroupResource(qualified); ok && !known[of] {
			out = append(out, generic.NewObjectCountEvaluator(of, func(namespace string) ([]runtime.Object, error) { return u.list(of, namespace) }, ""))
		}
	}
	return out
}

// Status returns the status that a quota should have: what its namespace uses of its limits, at a revision that is not older than atLeast. The numbers
// of what is not served stay as they are and, with an error, of what could not be counted.
func (u *Usage) Status(ctx context.Context, of *corev1.ResourceQuota, atLeast etcdstore.Revision) (corev1.ResourceQuotaStatus, error) {
	var evaluators []quota.Evaluator
	for _, e := range u.evaluators(of.Spec.Hard) {
		source := u.source(e.GroupResource())
		if source == nil {
			continue
		}
		objects, err := source.Cache()
		if err == nil {
			err = objects.WaitUntil(ctx, atLeast)
		}
		if err != nil {
			return corev1.ResourceQuotaStatus{}, err
		}
		evaluators = append(evaluators, e)
	}
	limits := quota.Add(corev1.ResourceList{}, of.Spec.Hard)
	counted, err := quota.CalculateUsage(of.Namespace, of.Spec.Scopes, limits, generic.NewRegistry(evaluators), of.Spec.ScopeSelector)
	used := quota.Add(corev1.ResourceList{}, of.Status.Used)
	for name, quantity := range counted {
		used[name] = quantity
	}
	return corev1.ResourceQuotaStatus{Hard: limits, Used: quota.Mask(used, quota.ResourceNames(limits))}, err
}

// counted is one object of a resource of which only the number counts.
var counted = &metav1.PartialObjectMetadata{}

// measured are the kinds of which more than the number counts.
var measured = map[schema.GroupResource]runtime.Object{
	{Resource: "pods"}:                                        &corev1.Pod{},
	{Resource: "services"}:                                    &corev1.Service{},
	{Resource: "persistentvolumeclaims"}:                      &corev1.PersistentVolumeClaim{},
	{Group: resourcev1.GroupName, Resource: "resourceclaims"}: &resourcev1.ResourceClaim{},
}

// source returns the source of the objects of a resource; nil: it is not served.
func (u *Usage) source(of schema.GroupResource) *informer.Source {
	for _, res := range u.catalog.Current().Registry.All() {
		if res.Group != of.Group || res.Plural != of.Resource || !res.Namespaced || res.Virtual || res.Mount != nil {
			continue
		}
		out := &informer.Source{Catalog: u.catalog, Resource: of.WithVersion(res.Version)}
		if sample := measured[of]; sample != nil {
			out.Make = func() runtime.Object { return sample.DeepCopyObject() }
		}
		return out
	}
	return nil
}

// list returns the objects of a namespace.
func (u *Usage) list(of schema.GroupResource, namespace string) (out []runtime.Object, err error) {
	source := u.source(of)
	if source == nil {
		return nil, informer.ErrNotServed
	}
	source.Namespace = namespace
	list, err := source.Objects(context.Background()) //nolint:forbidigo // of memory
	if err != nil {
		return nil, err
	}
	for o := range list.Objects {
		var object runtime.Object = counted
		if source.Make != nil {
			var failed error
			if object, failed = source.Decode(o); failed != nil {
				continue // what is no object of the kind uses nothing
			}
		}
		out = append(out, object)
	}
	return out, nil
}

// lister is the cache.GenericLister of a resource, and of its objects in a namespace, for evaluators.
type lister struct {
	usage     *Usage
	of        schema.GroupResource
	namespace string
}

// ByNamespace implements cache.GenericLister.
func (l lister) ByNamespace(name string) cache.GenericNamespaceLister {
	l.namespace = name
	return l
}

// Get implements cache.GenericLister. Evaluators do not call it.
func (lister) Get(string) (runtime.Object, error) { return nil, informer.ErrNotServed }

// List implements cache.GenericNamespaceLister.
func (l lister) List(labels.Selector) ([]runtime.Object, error) {
	return l.usage.list(l.of, l.namespace)
}
