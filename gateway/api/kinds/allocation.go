package kinds

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	apistorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	servicestorage "k8s.io/kubernetes/pkg/registry/core/service/storage"
)

// ServiceAllocator sets the cluster IPs, IP families and node ports of Services as Kubernetes' registry of services does, of which it uses nothing else.
type ServiceAllocator struct{ registry *servicestorage.REST }

// NewServiceAllocator returns one that takes cluster IPs from one or two networks, one of each family, of which the first is the default, and node ports.
func NewServiceAllocator(ips []ClusterIPs, ports NodePorts) (*ServiceAllocator, error) {
	families := make(map[core.IPFamily]ipallocator.Interface)
	for _, network := range ips {
		allocator := &ipAllocator{ClusterIPs: network}
		families[allocator.IPFamily()] = allocator
	}
	first := familyOf(ips[0].Network.Addr().String())
	registry, _, _, err := servicestorage.NewREST(withoutStorage{}, first, families, portAllocator{ports}, nil, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("registry of services: %w", err)
	}
	return &ServiceAllocator{registry}, nil
}

// Create allocates the addresses of a new Service, in place. The caller calls finish when the write has ended: without success it releases them. The
// error is a *apierrors.StatusError. Of an object that is no Service it does nothing: the strategy says what is wrong.
func (a *ServiceAllocator) Create(ctx context.Context, object map[string]any, dryRun bool) (finish func(success bool), err error) {
	next, err := decode(object, serviceKind)
	if err != nil {
		return func(bool) {}, nil //nolint:nilerr // see above
	}
	ended, err := a.registry.BeginCreate(ctx, next, &metav1.CreateOptions{DryRun: dryRunOption(dryRun)})
	return a.set(ctx, object, next, ended, err)
}

// Update is Create for a Service that replaces old. With success finish releases what old had and the new one has not.
func (a *ServiceAllocator) Update(ctx context.Context, object, old map[string]any, dryRun bool) (finish func(success bool), err error) {
	next, err := decode(object, serviceKind)
	before, failed := decode(old, serviceKind)
	if err != nil || failed != nil {
		return func(bool) {}, nil //nolint:nilerr // see Create
	}
	ended, err := a.registry.BeginUpdate(ctx, next, before, &metav1.UpdateOptions{DryRun: dryRunOption(dryRun)})
	return a.set(ctx, object, next, ended, err)
}

// set writes what was allocated into the object.
func (*ServiceAllocator) set(ctx context.Context, object map[string]any, next runtime.Object, ended func(context.Context, bool), err error) (func(bool), error) {
	if err != nil {
		return nil, err
	}
	finish := func(success bool) { ended(ctx, success) }
	if err = replace(object, next, serviceKind); err != nil {
		finish(false)
		return nil, err
	}
	return finish, nil
}

var serviceKind = schema.GroupVersionKind{Version: "v1", Kind: "Service"}

func dryRunOption(dryRun bool) []string {
	if dryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// withoutStorage is the generic.RESTOptionsGetter of a registry that stores nothing.
type withoutStorage struct{}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (withoutStorage) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{
		StorageConfig: storagebackend.NewDefaultConfig("", nil).ForResource(resource), ResourcePrefix: resource.Resource, Decorator: noStorage,
	}, nil
}

// noStorage is the generic.StorageDecorator of withoutStorage.
func noStorage(*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object, func() runtime.Object,
	apistorage.AttrFunc, apistorage.IndexerFuncs, *cache.Indexers,
) (apistorage.Interface, factory.DestroyFunc, error) {
	return nil, func() {}, nil
}
