package admission

import (
	"context"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clientnodev1 "k8s.io/client-go/kubernetes/typed/node/v1"

	"revtail/gateway/api/informer"
)

// newestOf returns an object in the newest state of etcd.
func newestOf[T runtime.Object](ctx context.Context, s *surroundings, kind schema.GroupVersionResource, namespace, name string, of T) (T, error) {
	source := s.informers.Source(kind, of)
	source.Namespace = namespace
	stored, err := source.Newest(ctx, name)
	if err == nil && stored == nil {
		err = apierrors.NewNotFound(kind.GroupResource(), name)
	}
	if err != nil {
		return of, err
	}
	object, err := source.Decode(stored)
	if err != nil {
		return of, err
	}
	return object.(T), nil // the source makes these
}

// hasServiceAccount reports whether a ServiceAccount exists, also if that is not known.
func (s *surroundings) hasServiceAccount(ctx context.Context, namespace, name string) bool {
	_, err := s.informers.Core().V1().ServiceAccounts().Lister().ServiceAccounts(namespace).Get(name)
	if apierrors.IsNotFound(err) { // a client that has just created it does not wait for the cache
		_, err = newestOf(ctx, s, informer.ServiceAccounts, namespace, name, &corev1.ServiceAccount{})
	}
	return !apierrors.IsNotFound(err)
}

func (c coreClient) ServiceAccounts(namespace string) clientcorev1.ServiceAccountInterface {
	return serviceAccountClient{around: c.around, namespace: namespace}
}

type serviceAccountClient struct {
	clientcorev1.ServiceAccountInterface
	around    *surroundings
	namespace string
}

// Get returns a ServiceAccount that the cache does not have yet.
func (c serviceAccountClient) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.ServiceAccount, error) {
	return newestOf(ctx, c.around, informer.ServiceAccounts, c.namespace, name, &corev1.ServiceAccount{})
}

func (coreClient) LimitRanges(string) clientcorev1.LimitRangeInterface { return limitRangeClient{} }

type limitRangeClient struct {
	clientcorev1.LimitRangeInterface
}

// List returns none: the lister of the plugin has all of them.
func (limitRangeClient) List(context.Context, metav1.ListOptions) (*corev1.LimitRangeList, error) {
	return &corev1.LimitRangeList{}, nil
}

func (c kubeClient) NodeV1() clientnodev1.NodeV1Interface { return nodeClient{around: c.around} }

type nodeClient struct {
	clientnodev1.NodeV1Interface
	around *surroundings
}

func (c nodeClient) RuntimeClasses() clientnodev1.RuntimeClassInterface {
	return runtimeClassClient{around: c.around}
}

type runtimeClassClient struct {
	clientnodev1.RuntimeClassInterface
	around *surroundings
}

// Get returns a RuntimeClass that the cache does not have yet.
func (c runtimeClassClient) Get(ctx context.Context, name string, _ metav1.GetOptions) (*nodev1.RuntimeClass, error) {
	return newestOf(ctx, c.around, informer.RuntimeClasses, "", name, &nodev1.RuntimeClass{})
}

func (c coreClient) ResourceQuotas(string) clientcorev1.ResourceQuotaInterface {
	return quotaClient{around: c.around}
}

type quotaClient struct {
	clientcorev1.ResourceQuotaInterface
	around *surroundings
}

// UpdateStatus charges a quota. If another gateway has just done so, the plugin tries again with what the lister then has: the newest state.
func (c quotaClient) UpdateStatus(ctx context.Context, quota *corev1.ResourceQuota, _ metav1.UpdateOptions) (*corev1.ResourceQuota, error) {
	ctx, cancel := context.WithTimeout(ctx, chargeTimeout)
	defer cancel()
	updated, err := c.around.statuses.UpdateStatus(ctx, quota)
	if apierrors.IsConflict(err) {
		pause(ctx, rand.N(maxChargePause)) // two gateways would conflict again at the same pace
		_, _ = newestOf(ctx, c.around, informer.ResourceQuotas, quota.Namespace, quota.Name, &corev1.ResourceQuota{})
	}
	return updated, err
}

const (
	chargeTimeout  = 5 * time.Second // the plugin waits for ten
	maxChargePause = 20 * time.Millisecond
)

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
