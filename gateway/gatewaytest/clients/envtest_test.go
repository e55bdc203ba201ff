package clients

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"revtail/gateway/gatewaytest"
)

// TestEnvtest runs controller-runtime's envtest on the folder that revtail envtest setup makes: a definition, users with certificates,
// custom resources with a status, and a restart of the control plane.
func TestEnvtest(t *testing.T) {
	t.Parallel()
	assets := t.TempDir()
	out, err := exec.CommandContext(t.Context(), gatewaytest.Binary(t), "envtest", "setup", assets).Output()
	if err != nil || !strings.HasPrefix(string(out), "export KUBEBUILDER_ASSETS='"+assets+"'") {
		t.Fatalf("envtest setup: %v: %s", err, out)
	}
	env := &envtest.Environment{BinaryAssetsDirectory: assets, AttachControlPlaneOutput: testing.Verbose(), CRDs: []*apiextensionsv1.CustomResourceDefinition{gadgets()}}
	began := time.Now()
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("from start to an established definition: %v", time.Since(began).Round(time.Millisecond))
	admin, err := ctrlclient.New(config, ctrlclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	user, err := env.AddUser(envtest.User{Name: "dora", Groups: []string{"testers"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dora, err := ctrlclient.New(user.Config(), ctrlclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	gadget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": "one", "namespace": "default"}, "spec": map[string]any{"size": int64(3)},
	}}
	if err := dora.Create(t.Context(), gadget); err != nil {
		t.Fatal(err)
	}
	gadget.Object["status"] = map[string]any{"phase": "Ready"}
	if err := dora.Status().Update(t.Context(), gadget); err != nil {
		t.Fatal(err)
	}
	orphan := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Namespace: "default", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "example.com/v1", Kind: "Gadget", Name: "absent", UID: "0000"},
	}}}
	if err := admin.Create(t.Context(), orphan); err != nil {
		t.Fatal(err)
	}
	if err := admin.Get(t.Context(), ctrlclient.ObjectKeyFromObject(gadget), gadget); err != nil || gadget.Object["status"] == nil {
		t.Errorf("the administrator reads %v, %v", gadget, err)
	}
	gadget.Object["spec"] = map[string]any{"size": "large"}
	if err := dora.Update(t.Context(), gadget); !apierrors.IsInvalid(err) {
		t.Errorf("an object against the schema of the definition: %v", err)
	}
	checkCluster(t, admin)
	stranger := *config
	stranger.CertData, stranger.KeyData, stranger.BearerToken = nil, nil, "none"
	unauthenticated, err := ctrlclient.New(&stranger, ctrlclient.Options{Mapper: admin.RESTMapper(), Scheme: admin.Scheme()})
	if err == nil {
		err = unauthenticated.Get(t.Context(), ctrlclient.ObjectKeyFromObject(orphan), orphan)
	}
	if !apierrors.IsUnauthorized(err) {
		t.Errorf("a client without a certificate: %v", err)
	}
}

// checkCluster checks what tests expect of every cluster: the Service of the API server, and a Pod that stays until the kubelet of its node, or
// a test in its place, deletes it.
func checkCluster(t *testing.T, admin ctrlclient.Client) {
	t.Helper()
	service := &corev1.Service{}
	if err := admin.Get(t.Context(), ctrlclient.ObjectKey{Namespace: "default", Name: "kubernetes"}, service); err != nil || service.Spec.ClusterIP != "10.0.0.1" {
		t.Errorf("the Service of the API server: %v, %v", service, err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bound", Namespace: "default"}, Spec: corev1.PodSpec{
		NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "i"}},
	}}
	if err := admin.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := admin.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := admin.Get(t.Context(), ctrlclient.ObjectKeyFromObject(pod), pod); err != nil || *pod.DeletionGracePeriodSeconds != 30 {
		t.Fatalf("a deleted Pod on a node: %v, %v", pod, err)
	}
	pod.Status.Phase = corev1.PodRunning
	if err := admin.Status().Update(t.Context(), pod); err != nil {
		t.Errorf("its status: %v", err)
	}
	if err := admin.Delete(t.Context(), pod, ctrlclient.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	if err := admin.Get(t.Context(), ctrlclient.ObjectKeyFromObject(pod), pod); !apierrors.IsNotFound(err) {
		t.Errorf("a Pod that its kubelet has deleted: %v", err)
	}
}

// gadgets is a definition with a schema and a status.
func gadgets() *apiextensionsv1.CustomResourceDefinition {
	properties := func(member, kind string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{member: {Type: kind}}}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gadgets", Kind: "Gadget"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true, Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": properties("size", "integer"), "status": properties("phase", "string")},
				}},
			}},
		},
	}
}
