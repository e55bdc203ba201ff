package pods

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"revtail/gateway/api/catalog"
	"revtail/gateway/api/object"
	"revtail/gateway/api/storage"
	"revtail/gateway/resource"
)

// Pods changes Pods. It is safe for concurrent use.
type Pods struct{ Store *storage.Store }

// change changes a Pod, as a write to a subresource. edit changes a copy of the stored Pod; it is called again after a conflicting write.
func (p *Pods) change(ctx context.Context, t catalog.Target, subresource string, dryRun bool, edit func(pod object.Object) error) (storage.Result, error) {
	t.Subresource = subresource
	return p.Store.Change(ctx, &storage.Request{Target: t, Options: storage.Options{DryRun: dryRun}}, func(old object.Object) (object.Object, error) {
		next := old.Copy()
		return next, edit(next)
	})
}

// member returns an object that is a member of another, which gets an empty one if it has none.
func member(of map[string]any, name string) map[string]any {
	found, ok := of[name].(map[string]any)
	if !ok {
		found = map[string]any{}
		of[name] = found
	}
	return found
}

// setCondition sets a condition of a Pod to true. It keeps the time since when it is true.
func setCondition(pod object.Object, condition corev1.PodCondition) {
	next := map[string]any{
		"type": string(condition.Type), "status": string(corev1.ConditionTrue), "reason": condition.Reason, "message": condition.Message,
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}
	status := member(pod.Object, resource.StatusSubresource)
	conditions, _ := status["conditions"].([]any)
	at := slices.IndexFunc(conditions, func(c any) bool {
		found, _ := c.(map[string]any)
		return found["type"] == next["type"]
	})
	if at < 0 {
		status["conditions"] = append(conditions, next)
		return
	}
	if before, _ := conditions[at].(map[string]any); before["status"] == next["status"] {
		next["lastTransitionTime"] = before["lastTransitionTime"]
	}
	conditions[at] = next
}
