package schema

import (
	"reflect"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// The extensions that say how lists and maps are merged: the first two to strategic merge patches, the others to configurations
// that are applied.
const (
	patchStrategyExtension = "x-kubernetes-patch-strategy"
	patchMergeKeyExtension = "x-kubernetes-patch-merge-key"
	listTypeExtension      = "x-kubernetes-list-type"
	listMapKeysExtension   = "x-kubernetes-list-map-keys"
	mapTypeExtension       = "x-kubernetes-map-type"
)

// addMergeTags adds to the schema of a field what its tags say: a list that patches merge by a key is a map of its elements, one
// that they merge without is a set, any other is replaced as a whole.
func addMergeTags(property *spec.Schema, tag reflect.StructTag) {
	strategy, key := tag.Get("patchStrategy"), tag.Get("patchMergeKey")
	if strategy != "" {
		property.AddExtension(patchStrategyExtension, strategy)
	}
	if key != "" {
		property.AddExtension(patchMergeKeyExtension, key)
	}
	if !property.Type.Contains("array") {
		return
	}
	switch merged := strings.Contains(strategy, "merge"); {
	case merged && key != "":
		setListType(property, mapList, key)
	case merged:
		setListType(property, setList)
	default:
		setListType(property, whole)
	}
}

// The types of lists, and of maps that are replaced as a whole.
const (
	whole   = "atomic"
	setList = "set"
	mapList = "map"
)

// setListType says how a list is merged; keys are the fields by which the elements of a map are told apart.
func setListType(property *spec.Schema, listType string, keys ...any) {
	property.AddExtension(listTypeExtension, listType)
	delete(property.Extensions, listMapKeysExtension)
	if len(keys) > 0 {
		property.AddExtension(listMapKeysExtension, keys)
	}
}

// mergeRule is what the tags of a type do not say: they are older than server-side apply, and what Kubernetes has decided since
// stands in comments.
type mergeRule struct {
	replaced bool              // the whole object, at any change
	fields   []string          // lists and maps that are replaced as a whole
	sets     []string          // lists
	maps     map[string][]any  // the keys of the elements, by the name of the list
	defaults map[string]string // of fields that are such keys
}

// mergeRules has the rules by the name of a type's schema.
var mergeRules = map[string]mergeRule{
	"io.k8s.api.batch.v1.JobStatus":                              {fields: []string{"conditions"}},
	"io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement": {sets: []string{"values"}},
	"io.k8s.api.batch.v1.UncountedTerminatedPods":                {sets: []string{"failed", "succeeded"}},
	"io.k8s.api.core.v1.ConfigMapKeySelector":                    {replaced: true},
	"io.k8s.api.core.v1.Container":                               {maps: map[string][]any{"ports": {"containerPort", "protocol"}}},
	"io.k8s.api.core.v1.ContainerPort":                           {defaults: map[string]string{"protocol": "TCP"}},
	"io.k8s.api.core.v1.ContainerRestartRuleOnExitCodes":         {sets: []string{"values"}},
	"io.k8s.api.core.v1.EphemeralContainer":                      {maps: map[string][]any{"ports": {"containerPort", "protocol"}}},
	"io.k8s.api.core.v1.EvictionResponder":                       {replaced: true},
	"io.k8s.api.core.v1.FileKeySelector":                         {replaced: true},
	"io.k8s.api.core.v1.LocalObjectReference":                    {replaced: true},
	"io.k8s.api.core.v1.NodeAllocatableResourceClaimStatus":      {sets: []string{"containers"}},
	"io.k8s.api.core.v1.NodePodPreemptionPolicy":                 {sets: []string{"disableResizePreemption"}},
	"io.k8s.api.core.v1.NodeSelector":                            {replaced: true},
	"io.k8s.api.core.v1.NodeSelectorTerm":                        {replaced: true},
	"io.k8s.api.core.v1.ObjectFieldSelector":                     {replaced: true},
	"io.k8s.api.core.v1.ObjectReference":                         {replaced: true},
	"io.k8s.api.core.v1.PodSpec": {fields: []string{"nodeSelector"},
		maps: map[string][]any{"topologySpreadConstraints": {"topologyKey", "whenUnsatisfiable"}}},
	"io.k8s.api.core.v1.PodStatus":                        {fields: []string{"hostIPs"}, maps: map[string][]any{"volumeHealth": {"name"}}},
	"io.k8s.api.core.v1.PodVolumeHealth":                  {maps: map[string][]any{"healthConditions": {"status", "reason"}}},
	"io.k8s.api.core.v1.ResourceFieldSelector":            {replaced: true},
	"io.k8s.api.core.v1.ResourceRequirements":             {maps: map[string][]any{"claims": {"name"}}},
	"io.k8s.api.core.v1.ResourceStatus":                   {maps: map[string][]any{"resources": {"resourceID"}}},
	"io.k8s.api.core.v1.SecretKeySelector":                {replaced: true},
	"io.k8s.api.core.v1.ServicePort":                      {defaults: map[string]string{"protocol": "TCP"}},
	"io.k8s.api.core.v1.ServiceSpec":                      {fields: []string{"selector"}, maps: map[string][]any{"ports": {"port", "protocol"}}},
	"io.k8s.api.core.v1.TypedLocalObjectReference":        {replaced: true},
	"io.k8s.api.core.v1.VolumeHealthStatus":               {maps: map[string][]any{"healthConditions": {"status", "reason"}}},
	"io.k8s.api.core.v1.VolumeMount":                      {sets: []string{"bindMountOptions"}},
	"io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector":  {replaced: true},
	"io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference": {replaced: true},
}

// addMergeRules adds to the schema of a type what mergeRules says.
func addMergeRules(s *spec.Schema, name string) {
	m := mergeRules[name]
	if m.replaced {
		s.AddExtension(mapTypeExtension, whole)
	}
	change := func(field string, do func(property *spec.Schema)) {
		property := s.Properties[field]
		do(&property)
		s.Properties[field] = property
	}
	for _, field := range m.fields {
		change(field, func(property *spec.Schema) {
			if property.Type.Contains("array") {
				setListType(property, whole)
			} else {
				property.AddExtension(mapTypeExtension, whole)
			}
		})
	}
	for _, field := range m.sets {
		change(field, func(property *spec.Schema) { setListType(property, setList) })
	}
	for field, keys := range m.maps {
		change(field, func(property *spec.Schema) { setListType(property, mapList, keys...) })
	}
	for field, value := range m.defaults {
		change(field, func(property *spec.Schema) { property.Default = value })
	}
}
