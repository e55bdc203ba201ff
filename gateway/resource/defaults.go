package resource

import corev1 "k8s.io/api/core/v1"

// Defaults are the fields that the objects of a kind have even when their clients leave them out.
type Defaults func(object map[string]any)

// namespaceDefaults say that a namespace is there, which clients wait for, and its name in the label by which namespaces are
// selected.
func namespaceDefaults(object map[string]any) {
	complete(object, map[string]any{"status": map[string]any{"phase": string(corev1.NamespaceActive)}})
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if name == "" {
		return
	}
	complete(metadata, map[string]any{"labels": map[string]any{}})
	if labels, ok := metadata["labels"].(map[string]any); ok {
		labels[corev1.LabelMetadataName] = name
	}
}

// What kube-apiserver sets in the spec of a workload. Its controllers count on it, and read these fields without asking
// whether they are there. What it sets in templates of pods is left to those who run pods.

func deploymentDefaults(object map[string]any) {
	spec := specOf(object)
	complete(spec, map[string]any{"replicas": int64(1), "revisionHistoryLimit": int64(10), "progressDeadlineSeconds": int64(600)})
	rollingByDefault(spec, "strategy", map[string]any{"maxUnavailable": "25%", "maxSurge": "25%"})
}

func replicaSetDefaults(object map[string]any) {
	complete(specOf(object), map[string]any{"replicas": int64(1)})
}

func statefulSetDefaults(object map[string]any) {
	spec := specOf(object)
	complete(spec, map[string]any{
		"replicas": int64(1), "revisionHistoryLimit": int64(10), "podManagementPolicy": "OrderedReady",
		"persistentVolumeClaimRetentionPolicy": map[string]any{"whenDeleted": "Retain", "whenScaled": "Retain"},
	})
	rollingByDefault(spec, "updateStrategy", map[string]any{"partition": int64(0)})
}

func daemonSetDefaults(object map[string]any) {
	spec := specOf(object)
	complete(spec, map[string]any{"revisionHistoryLimit": int64(10)})
	rollingByDefault(spec, "updateStrategy", map[string]any{"maxUnavailable": int64(1), "maxSurge": int64(0)})
}

// rollingByDefault completes a strategy: it rolls, unless it says otherwise.
func rollingByDefault(spec map[string]any, member string, rolling map[string]any) {
	complete(spec, map[string]any{member: map[string]any{"type": "RollingUpdate"}})
	if strategy, ok := spec[member].(map[string]any); ok && strategy["type"] == "RollingUpdate" {
		complete(strategy, map[string]any{"rollingUpdate": rolling})
	}
}

// specOf is the spec of an object. One that has none gets an empty one, as its Go type does; one that is no object is left
// alone.
func specOf(object map[string]any) map[string]any {
	complete(object, map[string]any{"spec": map[string]any{}})
	if spec, ok := object["spec"].(map[string]any); ok {
		return spec
	}
	return map[string]any{}
}

// complete sets the members that an object does not have, or has without a value. The defaults become a part of it.
func complete(object, defaults map[string]any) {
	for name, value := range defaults {
		switch present := object[name].(type) {
		case nil:
			object[name] = value
		case string:
			if present == "" {
				object[name] = value
			}
		case map[string]any:
			if nested, ok := value.(map[string]any); ok {
				complete(present, nested)
			}
		}
	}
}
