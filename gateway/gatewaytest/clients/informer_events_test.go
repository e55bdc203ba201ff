package clients

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	eventsinformers "k8s.io/client-go/informers/events/v1"
	"k8s.io/client-go/tools/cache"

	"revtail/gateway/gatewaytest"
)

// TestInformersOfEvents checks that typed informers of both groups of events have the same events, whichever group they were written to.
func TestInformersOfEvents(t *testing.T) {
	t.Parallel()
	c := newClient(t, gatewaytest.Start(t))
	typed := c.typed(t)
	core, group := coreinformers.NewEventInformer(typed, namespace, 0, nil), eventsinformers.NewEventInformer(typed, namespace, 0, nil)
	for _, informer := range []cache.SharedIndexInformer{core, group} {
		background(t, informer.RunWithContext)
		gatewaytest.Until(t, "the informer's sync", informer.HasSynced)
	}
	old := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "a"}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: "web"},
		Message: "assigned", Reason: "Scheduled", Type: corev1.EventTypeNormal, Source: corev1.EventSource{Component: "scheduler"}}
	if _, err := typed.CoreV1().Events(namespace).Create(t.Context(), old, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	recent := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: "web"},
		EventTime: metav1.NowMicro(), Note: "assigned", Reason: "Scheduled", Type: corev1.EventTypeNormal, Action: "Binding",
		ReportingController: "example.com/scheduler", ReportingInstance: "scheduler-1"}
	if _, err := typed.EventsV1().Events(namespace).Create(t.Context(), recent, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	labels := []byte(`{"metadata":{"labels":{"seen":"yes"}}}`)
	if _, err := typed.EventsV1().Events(namespace).Patch(t.Context(), "a", types.StrategicMergePatchType, labels, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		gatewaytest.Until(t, "event "+name+" in both informers", func() bool {
			one, ok := stored[*corev1.Event](core, name)
			other, found := stored[*eventsv1.Event](group, name)
			return ok && found && one.ResourceVersion == other.ResourceVersion && one.Message == "assigned" && other.Note == "assigned" &&
				one.InvolvedObject == other.Regarding && one.Source == other.DeprecatedSource && (name == "b" || one.Labels["seen"] == "yes")
		})
	}
	if err := typed.CoreV1().Events(namespace).Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Until(t, "the deletion in both informers", func() bool {
		return len(core.GetStore().ListKeys()) == 1 && len(group.GetStore().ListKeys()) == 1
	})
}

// stored returns an object of the namespace in the store of an informer.
func stored[T any](informer cache.SharedIndexInformer, name string) (object T, ok bool) {
	found, _, _ := informer.GetStore().GetByKey(namespace + "/" + name) // which returns no error
	object, ok = found.(T)
	return object, ok
}
