package schema

import (
	"reflect"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// The extensions for the merging of lists and maps: the first two are for strategic merge patches, the others for server-side apply.
const (
	patchStrategyExtension = "x-kubernetes-patch-strategy"
	patchMergeKeyExtension = "x-kubernetes-patch-merge-key"
	listTypeExtension      = "x-kubernetes-list-type"
	listMapKeysExtension   = "x-kubernetes-list-map-keys"
	mapTypeExtension       = "x-kubernetes-map-type"
)

// addMergeTags adds the extensions of a field's tags to its schema. A list that patches merge by a key is of type map, a list that they
// merge without a key is a set, any other list is atomic.
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
		setListType(property, atomic)
	}
}

// The types of lists and maps. Atomic ones are replaced as a whole.
const (
	atomic   = "atomic"
	granular = "granular"
	setList  = "set"
	mapList  = "map"
)

// setListType sets the type of a list; keys are the fields that identify the elements of one of type map.
func setListType(property *spec.Schema, listType string, keys ...any) {
	property.AddExtension(listTypeExtension, listType)
	delete(property.Extensions, listMapKeysExtension)
	if len(keys) > 0 {
		property.AddExtension(listMapKeysExtension, keys)
	}
}

// mergeRule has the types of lists and maps that the tags of a Go type lack. Kubernetes writes them in comments, which reflection does not
// find.
type mergeRule struct {
	replaced bool              // the object itself is atomic
	fields   []string          // atomic lists and maps
	sets     []string          // lists of type set
	granular []string          // objects that are not atomic, although their type is
	maps     map[string][]any  // the keys of lists of type map, by the name of the list
	defaults map[string]string // of fields that are such keys
}

// mergeRules has the rules by the name of a type's schema.
var mergeRules = map[string]mergeRule{
	"io.k8s.api.admissionregistration.v1.MatchResources":                       {replaced: true},
	"io.k8s.api.admissionregistration.v1.NamedRuleWithOperations":              {replaced: true},
	"io.k8s.api.admissionregistration.v1.ParamKind":                            {replaced: true},
	"io.k8s.api.admissionregistration.v1.ParamRef":                             {replaced: true},
	"io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec": {sets: []string{"validationActions"}},
	"io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyStatus":      {maps: map[string][]any{"conditions": {"type"}}},
	"io.k8s.api.admissionregistration.v1.Variable":                             {replaced: true},
	"io.k8s.api.autoscaling.v1.CrossVersionObjectReference":                    {replaced: true},
	"io.k8s.api.batch.v1.JobStatus":                                            {fields: []string{"conditions"}},
	"io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement":               {sets: []string{"values"}},
	"io.k8s.api.batch.v1.UncountedTerminatedPods":                              {sets: []string{"failed", "succeeded"}},
	"io.k8s.api.certificates.v1.CertificateSigningRequestStatus":               {maps: map[string][]any{"conditions": {"type"}}},
	"io.k8s.api.core.v1.ConfigMapKeySelector":                                  {replaced: true},
	"io.k8s.api.core.v1.Container":                                             {maps: map[string][]any{"ports": {"containerPort", "protocol"}}},
	"io.k8s.api.core.v1.ContainerPort":                                         {defaults: map[string]string{"protocol": "TCP"}},
	"io.k8s.api.core.v1.ContainerRestartRuleOnExitCodes":                       {sets: []string{"values"}},
	"io.k8s.api.core.v1.EndpointAddress":                                       {replaced: true},
	"io.k8s.api.core.v1.EndpointPort":                                          {replaced: true},
	"io.k8s.api.core.v1.EphemeralContainer":                                    {maps: map[string][]any{"ports": {"containerPort", "protocol"}}},
	"io.k8s.api.core.v1.EvictionResponder":                                     {replaced: true},
	"io.k8s.api.core.v1.FileKeySelector":                                       {replaced: true},
	"io.k8s.api.core.v1.LocalObjectReference":                                  {replaced: true},
	"io.k8s.api.core.v1.NodeAllocatableResourceClaimStatus":                    {sets: []string{"containers"}},
	"io.k8s.api.core.v1.NodePodPreemptionPolicy":                               {sets: []string{"disableResizePreemption"}},
	"io.k8s.api.core.v1.NodeSelector":                                          {replaced: true},
	"io.k8s.api.core.v1.NodeSelectorTerm":                                      {replaced: true},
	"io.k8s.api.core.v1.ObjectFieldSelector":                                   {replaced: true},
	"io.k8s.api.core.v1.ObjectReference":                                       {replaced: true},
	"io.k8s.api.core.v1.PersistentVolumeSpec":                                  {granular: []string{"claimRef"}},
	"io.k8s.api.core.v1.PodSpec": {fields: []string{"nodeSelector"},
		maps: map[string][]any{"topologySpreadConstraints": {"topologyKey", "whenUnsatisfiable"}}},
	"io.k8s.api.core.v1.PodStatus":                                                            {fields: []string{"hostIPs"}, maps: map[string][]any{"volumeHealth": {"name"}}},
	"io.k8s.api.core.v1.PodVolumeHealth":                                                      {maps: map[string][]any{"healthConditions": {"status", "reason"}}},
	"io.k8s.api.core.v1.ReplicationControllerSpec":                                            {fields: []string{"selector"}},
	"io.k8s.api.core.v1.ResourceFieldSelector":                                                {replaced: true},
	"io.k8s.api.core.v1.ResourceRequirements":                                                 {maps: map[string][]any{"claims": {"name"}}},
	"io.k8s.api.core.v1.ResourceStatus":                                                       {maps: map[string][]any{"resources": {"resourceID"}}},
	"io.k8s.api.core.v1.ScopeSelector":                                                        {replaced: true},
	"io.k8s.api.core.v1.SecretKeySelector":                                                    {replaced: true},
	"io.k8s.api.core.v1.SecretReference":                                                      {replaced: true},
	"io.k8s.api.core.v1.ServicePort":                                                          {defaults: map[string]string{"protocol": "TCP"}},
	"io.k8s.api.core.v1.ServiceSpec":                                                          {fields: []string{"selector"}, maps: map[string][]any{"ports": {"port", "protocol"}}},
	"io.k8s.api.core.v1.TopologySelectorTerm":                                                 {replaced: true},
	"io.k8s.api.core.v1.TypedLocalObjectReference":                                            {replaced: true},
	"io.k8s.api.core.v1.VolumeHealthStatus":                                                   {maps: map[string][]any{"healthConditions": {"status", "reason"}}},
	"io.k8s.api.core.v1.VolumeMount":                                                          {sets: []string{"bindMountOptions"}},
	"io.k8s.api.discovery.v1.Endpoint":                                                        {sets: []string{"addresses"}},
	"io.k8s.api.discovery.v1.EndpointPort":                                                    {replaced: true},
	"io.k8s.api.flowcontrol.v1.NonResourcePolicyRule":                                         {sets: []string{"nonResourceURLs", "verbs"}},
	"io.k8s.api.flowcontrol.v1.ResourcePolicyRule":                                            {sets: []string{"apiGroups", "namespaces", "resources", "verbs"}},
	"io.k8s.api.networking.v1.ServiceBackendPort":                                             {replaced: true},
	"io.k8s.api.node.v1.Scheduling":                                                           {fields: []string{"nodeSelector"}},
	"io.k8s.api.rbac.v1.RoleRef":                                                              {replaced: true},
	"io.k8s.api.rbac.v1.Subject":                                                              {replaced: true},
	"io.k8s.api.resource.v1.AllocatedDeviceStatus":                                            {maps: map[string][]any{"conditions": {"type"}}},
	"io.k8s.api.resource.v1.DeviceRequestAllocationResult":                                    {sets: []string{"skipNodeOperations"}},
	"io.k8s.api.resource.v1.ResourceClaimStatus":                                              {maps: map[string][]any{"devices": {"driver", "device", "pool", "shareID"}}},
	"io.k8s.api.resource.v1.ResourceSliceSpec":                                                {sets: []string{"skipNodeOperations"}},
	"io.k8s.api.storage.v1.CSIDriverSpec":                                                     {sets: []string{"volumeLifecycleModes"}},
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus": {maps: map[string][]any{"conditions": {"type"}}},
	"io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector":                                      {replaced: true},
	"io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference":                                     {replaced: true},
}

// addMergeRules adds the mergeRules of a type to its schema.
func addMergeRules(s *spec.Schema, name string) {
	m := mergeRules[name]
	if m.replaced {
		s.AddExtension(mapTypeExtension, atomic)
	}
	change := func(field string, do func(property *spec.Schema)) {
		property := s.Properties[field]
		do(&property)
		s.Properties[field] = property
	}
	for _, field := range m.fields {
		change(field, func(property *spec.Schema) {
			if property.Type.Contains("array") {
				setListType(property, atomic)
			} else {
				property.AddExtension(mapTypeExtension, atomic)
			}
		})
	}
	for _, field := range m.sets {
		change(field, func(property *spec.Schema) { setListType(property, setList) })
	}
	for _, field := range m.granular {
		change(field, func(property *spec.Schema) { property.AddExtension(mapTypeExtension, granular) })
	}
	for field, keys := range m.maps {
		change(field, func(property *spec.Schema) { setListType(property, mapList, keys...) })
	}
	for field, value := range m.defaults {
		change(field, func(property *spec.Schema) { property.Default = value })
	}
}
