package object

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// DeleteGracefully returns a Pod as its graceful deletion leaves it for the kubelet of its node, which deletes it with a grace period of
// zero. False: it is deleted at once. A second deletion can only shorten the period.
func DeleteGracefully(pod Object, options *metav1.DeleteOptions, now time.Time) (Object, bool) {
	period, isGraceful := gracePeriod(pod, options), true
	at := now.Add(time.Duration(period) * time.Second)
	if deleted := pod.GetDeletionTimestamp(); deleted != nil {
		before := pod.GetDeletionGracePeriodSeconds()
		switch {
		case before == nil || *before == 0:
			return pod, false
		case options.GracePeriodSeconds == nil || period >= *before:
			return pod, true
		}
		at = deleted.Add(time.Duration(period-*before) * time.Second)
		if at.Before(now) {
			at, period = now, min(period, 1)
		}
		isGraceful = period > 0
	} else if period == 0 {
		return pod, false
	}
	pod = pod.ShallowCopy()
	pod.Metadata()["deletionTimestamp"] = at.UTC().Format(time.RFC3339)
	pod.Metadata()["deletionGracePeriodSeconds"] = period
	return pod, isGraceful
}

// gracePeriod returns the seconds that a Pod gets: none without a node, or when its containers have ended.
func gracePeriod(pod Object, options *metav1.DeleteOptions) int64 {
	period, _, _ := unstructured.NestedInt64(pod.Object, "spec", "terminationGracePeriodSeconds")
	if options.GracePeriodSeconds != nil {
		period = *options.GracePeriodSeconds
	}
	node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	switch {
	case node == "", phase == string(corev1.PodFailed), phase == string(corev1.PodSucceeded):
		return 0
	case period < 0:
		return 1
	}
	return period
}

// IsLast reports whether an object that is being deleted goes with its last finalizer, because no kubelet has to delete it.
func IsLast(d Object) bool {
	if d.GetDeletionTimestamp() == nil || len(d.GetFinalizers()) > 0 {
		return false
	}
	grace := d.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}
