package clients

import (
	"net/http"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"revtail/gateway/gatewaytest"
)

// TestProtobufClient uses the verbs and subresources of a typed client that accepts nothing but protobuf.
func TestProtobufClient(t *testing.T) {
	t.Parallel()
	c := newClient(t, gatewaytest.Start(t))
	config := rest.CopyConfig(c.config)
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"
	k, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	useDeployments(t, k)
	usePods(t, k)
	question := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"}}}
	review, err := k.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), question, metav1.CreateOptions{})
	if err != nil || !review.Status.Allowed {
		t.Errorf("review: %v %v", review, err)
	}
	if _, err := k.CoreV1().ConfigMaps(namespace).Get(t.Context(), "none", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("an object that does not exist: %v", err)
	}
}

// useDeployments changes a Deployment, its scale and its status.
func useDeployments(t *testing.T, k kubernetes.Interface) {
	t.Helper()
	labels := map[string]string{"app": "web"}
	deployments := k.AppsV1().Deployments(namespace)
	made, err := deployments.Create(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scaled, err := deployments.UpdateScale(t.Context(), "web", &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace, ResourceVersion: made.ResourceVersion}, Spec: autoscalingv1.ScaleSpec{Replicas: 3},
	}, metav1.UpdateOptions{})
	if err != nil || scaled.Spec.Replicas != 3 || scaled.Status.Selector != "app=web" {
		t.Fatalf("scaled: %v %v", scaled, err)
	}
	if scale, err := deployments.GetScale(t.Context(), "web", metav1.GetOptions{}); err != nil || scale.Spec.Replicas != 3 {
		t.Errorf("scale: %v %v", scale, err)
	}
	made.ResourceVersion = ""
	if _, err := deployments.Update(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Errorf("update: %v", err)
	}
	made.Status.Replicas = 2
	if got, err := deployments.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil || got.Status.Replicas != 2 {
		t.Errorf("status: %v %v", got, err)
	}
	for _, patch := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		got, err := deployments.Patch(t.Context(), "web", patch, []byte(`{"metadata":{"labels":{"patch":"a"}}}`), metav1.PatchOptions{})
		if err != nil || got.Labels["patch"] != "a" {
			t.Errorf("%s: %v %v", patch, got, err)
		}
	}
}

// usePods lists pods in pages, deletes one and then all.
func usePods(t *testing.T, k kubernetes.Interface) {
	t.Helper()
	pods := k.CoreV1().Pods(namespace)
	for _, name := range []string{"a", "b", "c"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}}}
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	page, err := pods.List(t.Context(), metav1.ListOptions{Limit: 2})
	if err != nil || len(page.Items) != 2 || page.RemainingItemCount == nil || *page.RemainingItemCount != 1 {
		t.Fatalf("page: %v %v", page, err)
	}
	page, err = pods.List(t.Context(), metav1.ListOptions{Limit: 2, Continue: page.Continue})
	if err != nil || len(page.Items) != 1 || page.Items[0].Name != "c" {
		t.Fatalf("second page: %v %v", page, err)
	}
	if err := pods.Delete(t.Context(), "a", *metav1.NewDeleteOptions(0)); err != nil {
		t.Error(err)
	}
	err = pods.Delete(t.Context(), "b", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("another")})
	if status, ok := err.(apierrors.APIStatus); !ok || status.Status().Code != http.StatusConflict {
		t.Errorf("a precondition: %v", err)
	}
	if err := pods.DeleteCollection(t.Context(), *metav1.NewDeleteOptions(0), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}
