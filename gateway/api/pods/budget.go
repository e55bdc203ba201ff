package pods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/apps/poddisruptionbudget"

	"revtail/encoding/gotype"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/object"
	"revtail/gateway/api/storage"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// budgets returns the PodDisruptionBudgets of a namespace.
func (p *Pods) budgets(namespace string) catalog.Target {
	now := p.Store.Catalog.Current()
	res := now.Registry.Lookup(policyv1.GroupName, "v1", "poddisruptionbudgets")
	return catalog.Target{Ref: resource.Ref{Resource: res, Scope: resource.Scope{Namespace: namespace}}, Cache: now.Caches[res]}
}

// budgetOf returns the PodDisruptionBudget that selects a Pod; nil: there is none. Several are an error, as in a cluster.
func (p *Pods) budgetOf(ctx context.Context, pod *corev1.Pod) (found *policyv1.PodDisruptionBudget, err error) {
	list, err := p.Store.List(ctx, p.budgets(pod.Namespace), request.ListOptions{Unset: true})
	if err != nil {
		return nil, err
	}
	for o := range list.Objects {
		budget := &policyv1.PodDisruptionBudget{}
		if err := json.Unmarshal(o.JSON, budget); err != nil {
			return nil, fmt.Errorf("the PodDisruptionBudget %s: %w", o.Path(), err)
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil || !selector.Matches(labels.Set(pod.Labels)) { // an invalid one selects nothing
			continue
		}
		if found != nil {
			return nil, status.Error(http.StatusInternalServerError, metav1.StatusReasonUnknown,
				"This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
		}
		found = budget
	}
	return found, nil
}

// isUnguarded reports whether the eviction of a Pod disrupts nothing because it is not ready: its budget says so, or enough others are ready.
func isUnguarded(pod *corev1.Pod, budget *policyv1.PodDisruptionBudget) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return false
		}
	}
	if policy := budget.Spec.UnhealthyPodEvictionPolicy; policy != nil && *policy == policyv1.AlwaysAllow {
		return true
	}
	return budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy && budget.Status.DesiredHealthy > 0
}

// spend takes one of the disruptions that a budget allows, and notes for its controller which Pod has it.
func (p *Pods) spend(ctx context.Context, budget *policyv1.PodDisruptionBudget, pod string, dryRun bool) error {
	t := p.budgets(budget.Namespace)
	t.Scope.Name, t.Subresource = budget.Name, resource.StatusSubresource
	wr := &storage.Request{Target: t, Options: storage.Options{Manager: "revtail", DryRun: dryRun}}
	_, err := p.Store.Change(ctx, wr, func(old object.Object) (object.Object, error) {
		stored := &policyv1.PodDisruptionBudget{}
		if err := gotype.Decode(old.Copy().Object, stored); err != nil {
			return object.Object{}, err
		}
		if err := checkBudget(stored); err != nil {
			return object.Object{}, err
		}
		if stored.Status.DisruptionsAllowed--; stored.Status.DisruptionsAllowed == 0 {
			poddisruptionbudget.UpdateDisruptionAllowedCondition(stored)
		}
		if stored.Status.DisruptedPods == nil {
			stored.Status.DisruptedPods = map[string]metav1.Time{}
		}
		stored.Status.DisruptedPods[pod] = metav1.NewTime(time.Now())
		next, err := gotype.Encode(&stored.Status)
		return object.New(object.WithMember(old.Copy().Object, resource.StatusSubresource, next)), err
	})
	return err
}

// maxDisruptedPods is how many evictions the controller of a budget may not have noticed yet, as in a cluster.
const maxDisruptedPods = 2000

// checkBudget returns the error of an eviction that a budget does not allow now.
func checkBudget(budget *policyv1.PodDisruptionBudget) error {
	s := budget.Status
	switch {
	case s.ObservedGeneration < budget.Generation:
		return unprocessed(budget.Name)
	case s.DisruptionsAllowed < 0:
		return forbidden(budget.Name, "pdb disruptions allowed is negative", "pdb disruptions allowed is negative")
	case len(s.DisruptedPods) > maxDisruptedPods:
		return forbidden(budget.Name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
			"too many pending evictions not confirmed by PDB controller")
	case s.DisruptionsAllowed == 0:
		return tooManyDisruptions(0, "The disruption budget "+budget.Name+" "+reasonOf(s))
	}
	return nil
}

// reasonOf says why a budget allows no disruption.
func reasonOf(s policyv1.PodDisruptionBudgetStatus) string {
	const refused = "does not allow evicting pods currently"
	condition := meta.FindStatusCondition(s.Conditions, policyv1.DisruptionAllowedCondition)
	if condition != nil && (condition.Status != metav1.ConditionFalse || condition.Message == "") {
		condition = nil
	}
	switch {
	case condition != nil && condition.Reason == policyv1.SyncFailedReason: // then the numbers are old
		return refused + " because it failed sync: " + condition.Message
	case s.CurrentHealthy <= s.DesiredHealthy:
		return fmt.Sprintf("needs %d healthy pods and has %d currently", s.DesiredHealthy, s.CurrentHealthy)
	case condition != nil:
		return refused + " (" + condition.Reason + "): " + condition.Message
	}
	return refused
}

// unprocessed returns the error of a budget whose controller has not seen its newest state.
func unprocessed(name string) error {
	const seconds = 10
	return tooManyDisruptions(seconds, "The disruption budget "+name+" is still being processed by the server.")
}

func tooManyDisruptions(retryAfter int, cause string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfter)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: cause})
	return err
}

func forbidden(name, reason, cause string) error {
	err := apierrors.NewForbidden(policyv1.Resource("poddisruptionbudget"), name, errors.New(reason))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget " + name + " does not allow evicting pods currently: " + cause,
	})
	return err
}
