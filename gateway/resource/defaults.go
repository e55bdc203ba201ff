package resource

import (
	corev1 "k8s.io/api/core/v1"

	"revtail/encoding/jsontext"
)

// Defaults sets the fields that clients have left out.
type Defaults func(object map[string]any)

// namespaceDefaults set the phase that clients wait for, and the label with the name, by which selectors find namespaces.
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

// The defaults that kube-apiserver sets in the spec of a workload, because controllers read these fields without a check for nil.
// Templates of pods get no defaults.

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
	if strategy, _ := spec["updateStrategy"].(map[string]any); strategy["type"] == nil {
		rollingByDefault(spec, "updateStrategy", map[string]any{"partition": int64(0)})
	}
}

func daemonSetDefaults(object map[string]any) {
	spec := specOf(object)
	complete(spec, map[string]any{"revisionHistoryLimit": int64(10)})
	rollingByDefault(spec, "updateStrategy", map[string]any{"maxUnavailable": int64(1), "maxSurge": int64(0)})
}

// rollingByDefault sets the type of a strategy that has none to RollingUpdate, with its parameters.
func rollingByDefault(spec map[string]any, member string, rolling map[string]any) {
	complete(spec, map[string]any{member: map[string]any{"type": "RollingUpdate"}})
	if strategy, ok := spec[member].(map[string]any); ok && strategy["type"] == "RollingUpdate" {
		complete(strategy, map[string]any{"rollingUpdate": rolling})
	}
}

// The fields of workloads without which defaults are set. Those of another strategy than RollingUpdate have fewer.
var (
	deploymentFields = specFields(jsontext.Fields("replicas", "revisionHistoryLimit", "progressDeadlineSeconds"),
		rollingFields("strategy", "maxUnavailable", "maxSurge"))
	replicaSetFields  = specFields(jsontext.Fields("replicas"))
	statefulSetFields = specFields(jsontext.Fields("replicas", "revisionHistoryLimit", "podManagementPolicy"), rollingFields("updateStrategy", "partition"),
		jsontext.Field{Name: "persistentVolumeClaimRetentionPolicy", Fields: jsontext.Fields("whenDeleted", "whenScaled")})
	daemonSetFields = specFields(jsontext.Fields("revisionHistoryLimit"), rollingFields("updateStrategy", "maxUnavailable", "maxSurge"))
)

func specFields(simple []jsontext.Field, others ...jsontext.Field) []jsontext.Field {
	return []jsontext.Field{{Name: "spec", Fields: append(simple, others...)}}
}

func rollingFields(member string, parameters ...string) jsontext.Field {
	return jsontext.Field{Name: member, Fields: []jsontext.Field{{Name: "type"}, {Name: "rollingUpdate", Fields: jsontext.Fields(parameters...)}}}
}

// specOf returns the spec of an object, which it sets if it is missing, as the Go type has one. It does not change a spec of another type.
func specOf(object map[string]any) map[string]any {
	complete(object, map[string]any{"spec": map[string]any{}})
	if spec, ok := object["spec"].(map[string]any); ok {
		return spec
	}
	return map[string]any{}
}

// complete sets the members of an object that are missing or null. The object shares the values of defaults.
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
