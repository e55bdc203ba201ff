package admission

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserver "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	webhookinitializer "k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/openapi"

	"revtail/gateway/api/catalog"
	"revtail/gateway/api/informer"
	"revtail/gateway/api/webhook"
)

// maxAnswer bounds the answer of a webhook, in bytes: an object of the largest size, as a patch in base64.
const maxAnswer = 8 << 20

// surroundings are what plugins find around them in a kube-apiserver: clients and informers. All of it reads the memory of the gateway.
type surroundings struct {
	Config
	informers *informer.Factory
	ended     <-chan struct{}
	statuses  Statuses
	usage     *Usage // nil: not made yet; Chain.mu guards it
}

func newSurroundings(life context.Context, config Config, statuses Statuses) *surroundings {
	return &surroundings{Config: config, informers: informer.NewFactory(life, config.Catalog), ended: life.Done(), statuses: statuses}
}

// initialize gives a plugin what it wants, and lets it start.
func (s *surroundings) initialize(ctx context.Context, handler apiserver.Interface) error {
	if b, ok := handler.(builtin); ok {
		handler = b.Interface
	}
	initializer.New(kubeClient{around: s}, dynamicClient{s.Catalog}, s.informers, plainAuthorizer{by: s.Authorizer}, utilfeature.DefaultFeatureGate,
		nil, s.ended, restMapper{catalog: s.Catalog}).Initialize(handler)
	webhookinitializer.NewPluginInitializer(webhook.Clients("revtail-admission", maxAnswer), webhook.NoServices{}).Initialize(handler)
	if counting, ok := handler.(initializer.WantsQuotaConfiguration); ok {
		usage, err := s.quotaUsage()
		if err != nil {
			return err
		}
		counting.SetQuotaConfiguration(usage.rules)
	}
	if !s.informers.WaitSynced(ctx) {
		return context.Cause(ctx)
	}
	return apiserver.ValidateInitialization(handler)
}

// plainAuthorizer is an authorizer.Authorizer without conditions, which plugins do not ask for.
type plainAuthorizer struct {
	authorizer.Authorizer
	by authorizer.UnconditionalAuthorizer
}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (a plainAuthorizer) Authorize(ctx context.Context, about authorizer.Attributes) (authorizer.Decision, string, error) {
	return a.by.Authorize(ctx, about)
}

// kubeClient is the kubernetes.Interface of plugins, with the methods that they call.
type kubeClient struct {
	kubernetes.Interface
	around *surroundings
}

func (c kubeClient) CoreV1() clientcorev1.CoreV1Interface { return coreClient{around: c.around} }

func (c kubeClient) Discovery() discovery.DiscoveryInterfaces {
	return discoveryClient{catalog: c.around.Catalog}
}

type coreClient struct {
	clientcorev1.CoreV1Interface
	around *surroundings
}

func (c coreClient) Namespaces() clientcorev1.NamespaceInterface {
	return namespaceClient{around: c.around}
}

type namespaceClient struct {
	clientcorev1.NamespaceInterface
	around *surroundings
}

// Get returns a Namespace that the informer does not have.
func (c namespaceClient) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	return newestNamespace(ctx, c.around.Catalog, name)
}

// newestNamespace returns a Namespace as etcd has it. For one that does not exist it returns the Namespace that the first object of the
// namespace will create.
func newestNamespace(ctx context.Context, c *catalog.Catalog, name string) (*corev1.Namespace, error) {
	out := &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}},
		Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}
	stored, err := namespaces(c).Newest(ctx, name)
	if err != nil || stored == nil {
		return out, err
	}
	return out, json.Unmarshal(stored.JSON, out)
}

func namespaces(c *catalog.Catalog) *informer.Source {
	return &informer.Source{Catalog: c, Resource: corev1.SchemeGroupVersion.WithResource("namespaces")}
}

// restMapper finds the resource of a kind.
type restMapper struct {
	meta.RESTMapper
	catalog *catalog.Catalog
}

// RESTMapping implements meta.RESTMapper.
func (m restMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	for _, res := range m.catalog.Current().Registry.All() {
		if res.Group != kind.Group || res.Kind != kind.Kind || len(versions) > 0 && res.Version != versions[0] {
			continue
		}
		scope := meta.RESTScopeRoot
		if res.Namespaced {
			scope = meta.RESTScopeNamespace
		}
		gv := schema.GroupVersion{Group: res.Group, Version: res.Version}
		return &meta.RESTMapping{Resource: gv.WithResource(res.Plural), GroupVersionKind: gv.WithKind(res.Kind), Scope: scope}, nil
	}
	return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
}

// discoveryClient returns the OpenAPI documents of the gateway, which say how the lists of a kind are merged.
type discoveryClient struct {
	discovery.DiscoveryInterfaces
	catalog *catalog.Catalog
}

func (c discoveryClient) OpenAPIV3() openapi.Client { return documents(c) }

type documents discoveryClient

// Paths implements openapi.Client.
func (d documents) Paths() (map[string]openapi.GroupVersion, error) {
	out := make(map[string]openapi.GroupVersion)
	for path, part := range d.catalog.Current().OpenAPI.Documents {
		out[path] = document{path, part.Render}
	}
	return out, nil
}
