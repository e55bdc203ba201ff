package pods

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/api/catalog"
	"revtail/gateway/api/object"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// Evict deletes the Pod of a target with the options of an eviction, unless that would violate its PodDisruptionBudget: then the error has the
// code 429. A Pod that does not run yet, or no longer, needs no budget.
func (p *Pods) Evict(ctx context.Context, t catalog.Target, eviction *policyv1.Eviction, dryRun bool) error {
	if eviction.Name != t.Scope.Name {
		return status.BadRequest("name in URL does not match name in Eviction object")
	}
	options := eviction.DeleteOptions
	if options == nil {
		options = &metav1.DeleteOptions{}
	}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	ctx, cancel := context.WithTimeout(ctx, request.Timeout)
	defer cancel()
	for {
		pod, err := p.find(ctx, t)
		if err != nil {
			return err
		}
		if needsBudget(pod) {
			return p.evictRunning(ctx, t, pod, options)
		}
		read := options
		if pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil {
			read = atVersion(options, pod.ResourceVersion) // once it runs, it needs a budget
		}
		if err = p.remove(ctx, t, read); !apierrors.IsConflict(err) || options.Preconditions != nil {
			return err
		}
		select {
		case <-time.After(evictAgain):
		case <-ctx.Done():
			return err
		}
	}
}

// evictAgain is the time between two attempts to evict a Pod that changes.
const evictAgain = 100 * time.Millisecond

// evictRunning evicts a Pod whose eviction its PodDisruptionBudget, if it has one, has to allow.
func (p *Pods) evictRunning(ctx context.Context, t catalog.Target, pod *corev1.Pod, options *metav1.DeleteOptions) error {
	budget, err := p.budgetOf(ctx, pod)
	switch {
	case err != nil:
		return err
	case budget == nil:
		return p.remove(ctx, t, options)
	case isUnguarded(pod, budget):
		err = p.remove(ctx, t, atVersion(options, pod.ResourceVersion)) // it may have become ready
		if apierrors.IsConflict(err) && options.Preconditions == nil {
			return unprocessed(budget.Name)
		}
		return err
	}
	if err = p.spend(ctx, budget, pod.Name, len(options.DryRun) > 0); err != nil {
		return err
	}
	return p.remove(ctx, t, options)
}

// remove gives a Pod the condition that it is evicted, and deletes it.
func (p *Pods) remove(ctx context.Context, t catalog.Target, options *metav1.DeleteOptions) error {
	t.Subresource = ""
	if len(options.DryRun) > 0 {
		_, err := p.Store.Delete(ctx, t, options)
		return err
	}
	done, err := p.change(ctx, t, resource.EvictionSubresource, false, func(pod object.Object) error {
		setCondition(pod, corev1.PodCondition{Type: corev1.DisruptionTarget, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"})
		return object.CheckPreconditions(t.Ref, options.Preconditions, pod.GetUID(), pod.GetResourceVersion())
	})
	if err != nil {
		return err
	}
	if p := options.Preconditions; p != nil && p.ResourceVersion != nil {
		options = options.DeepCopy()
		*options.Preconditions.ResourceVersion = strconv.FormatInt(int64(done.Revision()), 10)
	}
	_, err = p.Store.Delete(ctx, t, options)
	return err
}

// find reads a Pod from etcd.
func (p *Pods) find(ctx context.Context, t catalog.Target) (*corev1.Pod, error) {
	document, revision, err := p.Store.Find(ctx, t.Resource.Plural, t.Scope.Namespace, t.Scope.Name, true)
	switch {
	case err != nil:
		return nil, err
	case document == nil:
		return nil, status.ObjectNotFound(t.Ref)
	}
	pod := &corev1.Pod{}
	err = json.Unmarshal(document, pod)
	pod.ResourceVersion = strconv.FormatInt(revision, 10)
	return pod, err
}

// needsBudget reports whether the eviction of a Pod disrupts something.
func needsBudget(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending:
		return false
	}
	return pod.DeletionTimestamp == nil
}

// atVersion returns options with the precondition that the Pod has not changed, unless the client has one.
func atVersion(options *metav1.DeleteOptions, version string) *metav1.DeleteOptions {
	options = options.DeepCopy()
	if options.Preconditions == nil {
		options.Preconditions = &metav1.Preconditions{}
	}
	if options.Preconditions.ResourceVersion == nil {
		options.Preconditions.ResourceVersion = &version
	}
	return options
}
