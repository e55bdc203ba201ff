package informer

import (
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/informers/node"
	informersnodev1 "k8s.io/client-go/informers/node/v1"
	"k8s.io/client-go/informers/resource"
	informersresourcev1 "k8s.io/client-go/informers/resource/v1"
	"k8s.io/client-go/informers/scheduling"
	informersschedulingv1 "k8s.io/client-go/informers/scheduling/v1"
	listersnodev1 "k8s.io/client-go/listers/node/v1"
	listersresourcev1 "k8s.io/client-go/listers/resource/v1"
	listersschedulingv1 "k8s.io/client-go/listers/scheduling/v1"
	"k8s.io/client-go/tools/cache"

	"revtail/gateway/api/kinds"
)

// Node implements informers.SharedInformerFactory.
func (f *Factory) Node() node.Interface { return nodeGroup{factory: f} }

type nodeGroup struct {
	node.Interface
	factory *Factory
}

func (g nodeGroup) V1() informersnodev1.Interface { return nodeVersion{factory: g.factory} }

type nodeVersion struct {
	informersnodev1.Interface
	factory *Factory
}

func (v nodeVersion) RuntimeClasses() informersnodev1.TypedRuntimeClassInformer {
	return listed[informersnodev1.RuntimeClassIndexInformer](v.factory, RuntimeClasses, &nodev1.RuntimeClass{}, listersnodev1.NewRuntimeClassLister)
}

// Scheduling implements informers.SharedInformerFactory.
func (f *Factory) Scheduling() scheduling.Interface { return schedulingGroup{factory: f} }

type schedulingGroup struct {
	scheduling.Interface
	factory *Factory
}

func (g schedulingGroup) V1() informersschedulingv1.Interface {
	return schedulingVersion{factory: g.factory}
}

type schedulingVersion struct {
	informersschedulingv1.Interface
	factory *Factory
}

func (v schedulingVersion) PriorityClasses() informersschedulingv1.TypedPriorityClassInformer {
	kind := schedulingv1.SchemeGroupVersion.WithResource("priorityclasses")
	return listed[informersschedulingv1.PriorityClassIndexInformer](v.factory, kind, &schedulingv1.PriorityClass{}, newPriorityClassLister)
}

func newPriorityClassLister(i cache.Indexer) listersschedulingv1.PriorityClassLister {
	return priorityClasses{listersschedulingv1.NewPriorityClassLister(i)}
}

// priorityClasses are the stored PriorityClasses and those of the system, which a kube-apiserver stores when it starts.
type priorityClasses struct {
	listersschedulingv1.PriorityClassLister
}

// Get implements PriorityClassLister.
func (p priorityClasses) Get(name string) (*schedulingv1.PriorityClass, error) {
	stored, err := p.PriorityClassLister.Get(name)
	if apierrors.IsNotFound(err) {
		if system := kinds.SystemPriorityClass(name); system != nil {
			return system, nil
		}
	}
	return stored, err
}

// Resource implements informers.SharedInformerFactory.
func (f *Factory) Resource() resource.Interface { return resourceGroup{factory: f} }

type resourceGroup struct {
	resource.Interface
	factory *Factory
}

func (g resourceGroup) V1() informersresourcev1.Interface { return resourceVersion{factory: g.factory} }

type resourceVersion struct {
	informersresourcev1.Interface
	factory *Factory
}

func (v resourceVersion) DeviceClasses() informersresourcev1.TypedDeviceClassInformer {
	made := v.factory.informer(resourcev1.SchemeGroupVersion, "deviceclasses", &resourcev1.DeviceClass{})
	return informerOf[informersresourcev1.DeviceClassIndexInformer, listersresourcev1.DeviceClassLister]{
		made, cache.NewTypedSharedIndexInformer[*resourcev1.DeviceClass](made), listersresourcev1.NewDeviceClassLister(made.GetIndexer())}
}

func (v resourceVersion) ResourceClaims() informersresourcev1.TypedResourceClaimInformer {
	made := v.factory.informer(resourcev1.SchemeGroupVersion, "resourceclaims", &resourcev1.ResourceClaim{})
	return informerOf[informersresourcev1.ResourceClaimIndexInformer, listersresourcev1.ResourceClaimLister]{
		made, cache.NewTypedSharedIndexInformer[*resourcev1.ResourceClaim](made), listersresourcev1.NewResourceClaimLister(made.GetIndexer())}
}
