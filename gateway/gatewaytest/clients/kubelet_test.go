package clients

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"revtail/gateway/gatewaytest"
)

// startKubelet makes the pods of all namespaces run and ready until the test ends, except for those with a broken image. A failed request,
// as without a gateway, is repeated in the next round.
func startKubelet(t *testing.T, gw *gatewaytest.Gateway) {
	t.Helper()
	c := newClient(t, gw)
	c.config.Transport = protobufOnly{t: t, next: c.config.Transport}
	client := c.typed(t)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) { runPods(ctx, client) }, 20*time.Millisecond)
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// runPods sets the status of all pods that do not run yet.
func runPods(ctx context.Context, client kubernetes.Interface) {
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning || strings.HasSuffix(pod.Spec.Containers[0].Image, ":broken") {
			continue
		}
		now := metav1.Now()
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}}}
		_, _ = client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, &pod, metav1.UpdateOptions{})
	}
}
