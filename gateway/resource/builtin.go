package resource

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/validation"
)

// builtin are the built-in kinds that have been served from the beginning. Package kinds has the others, and the strategies and printers of all.
// Revtail has no controllers.
var builtin = []Resource{
	{Version: "v1", Plural: "namespaces", Ungenerated: true, Kind: "Namespace", ShortNames: []string{"ns"}, Status: true, UnconditionalUpdate: true,
		GoType: corev1.Namespace{}, ValidateName: validation.ValidateNamespaceName, Defaults: namespaceDefaults},
	{Version: "v1", Plural: "nodes", Kind: "Node", ShortNames: []string{"no"}, Status: true, GoType: corev1.Node{}},
	{Version: "v1", Plural: "pods", Kind: "Pod", Namespaced: true, ShortNames: []string{"po"}, Categories: []string{"all"}, Status: true,
		GoType: corev1.Pod{}},
	{Version: "v1", Plural: "services", Kind: "Service", Namespaced: true, ShortNames: []string{"svc"}, Categories: []string{"all"}, Status: true,
		GoType: corev1.Service{}},
	{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true, ShortNames: []string{"cm"},
		GoType: corev1.ConfigMap{}},
	{Version: "v1", Plural: "secrets", Kind: "Secret", Namespaced: true, GoType: corev1.Secret{}},
	{Version: "v1", Plural: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true, ShortNames: []string{"sa"}, Tokens: true,
		GoType: corev1.ServiceAccount{}},
	{Version: "v1", Plural: "events", Kind: "Event", Namespaced: true, ShortNames: []string{"ev"},
		GoType: corev1.Event{}},

	{Group: "apps", Version: "v1", Plural: "deployments", Kind: "Deployment", Namespaced: true, ShortNames: []string{"deploy"},
		Categories: []string{"all"}, Status: true, Scale: replicas, GoType: appsv1.Deployment{},
		Defaults: deploymentDefaults, Complete: deploymentFields},
	{Group: "apps", Version: "v1", Plural: "replicasets", Kind: "ReplicaSet", Namespaced: true, ShortNames: []string{"rs"},
		Categories: []string{"all"}, Status: true, Scale: replicas, GoType: appsv1.ReplicaSet{},
		Defaults: replicaSetDefaults, Complete: replicaSetFields},
	{Group: "apps", Version: "v1", Plural: "statefulsets", Kind: "StatefulSet", Namespaced: true, ShortNames: []string{"sts"},
		Categories: []string{"all"}, Status: true, Scale: replicas, GoType: appsv1.StatefulSet{},
		Defaults: statefulSetDefaults, Complete: statefulSetFields},
	{Group: "apps", Version: "v1", Plural: "daemonsets", Kind: "DaemonSet", Namespaced: true, ShortNames: []string{"ds"},
		Categories: []string{"all"}, Status: true, GoType: appsv1.DaemonSet{},
		Defaults: daemonSetDefaults, Complete: daemonSetFields},

	{Group: "batch", Version: "v1", Plural: "jobs", Kind: "Job", Namespaced: true, Categories: []string{"all"}, Status: true,
		GoType: batchv1.Job{}},
	{Group: "batch", Version: "v1", Plural: "cronjobs", Kind: "CronJob", Namespaced: true, ShortNames: []string{"cj"},
		Categories: []string{"all"}, Status: true, GoType: batchv1.CronJob{}},

	{Group: "coordination.k8s.io", Version: "v1", Plural: "leases", Kind: "Lease", Namespaced: true,
		GoType: coordinationv1.Lease{}},
	{Group: "events.k8s.io", Version: "v1", Plural: "events", Kind: "Event", Namespaced: true, ShortNames: []string{"ev"},
		Storage: corev1.SchemeGroupVersion, GoType: eventsv1.Event{}},
}

// replicas is the scale subresource of workloads.
var replicas = &Scale{SpecReplicas: []string{"spec", "replicas"}, StatusReplicas: []string{"status", "replicas"}, Selector: []string{"spec", "selector"}}

// virtual are bindings, the components of a control plane, and the reviews: of the caller's user and rights, and of tokens and rights of others.
var virtual = []Resource{
	*BindingKind,
	{Version: "v1", Plural: "componentstatuses", Kind: "ComponentStatus", ShortNames: []string{"cs"}, Virtual: true, ReadOnly: true,
		GoType:      corev1.ComponentStatus{},
		Deprecation: "v1 ComponentStatus is deprecated in v1.19+"},
	{Group: "authentication.k8s.io", Version: "v1", Plural: "selfsubjectreviews", Kind: "SelfSubjectReview", Virtual: true,
		GoType: authenticationv1.SelfSubjectReview{}},
	{Group: "authentication.k8s.io", Version: "v1", Plural: "tokenreviews", Kind: "TokenReview", Virtual: true,
		GoType: authenticationv1.TokenReview{}},
	{Group: "authorization.k8s.io", Version: "v1", Plural: "localsubjectaccessreviews", Kind: "LocalSubjectAccessReview", Virtual: true, Namespaced: true,
		GoType: authorizationv1.LocalSubjectAccessReview{}},
	{Group: "authorization.k8s.io", Version: "v1", Plural: "selfsubjectaccessreviews", Kind: "SelfSubjectAccessReview", Virtual: true,
		GoType: authorizationv1.SelfSubjectAccessReview{}},
	{Group: "authorization.k8s.io", Version: "v1", Plural: "selfsubjectrulesreviews", Kind: "SelfSubjectRulesReview", Virtual: true,
		GoType: authorizationv1.SelfSubjectRulesReview{}},
	{Group: "authorization.k8s.io", Version: "v1", Plural: "subjectaccessreviews", Kind: "SubjectAccessReview", Virtual: true,
		GoType: authorizationv1.SubjectAccessReview{}},
}

// Builtin returns copies of these kinds, in the order in which discovery shows them. kinds.Builtin returns all.
func Builtin() []*Resource { return copyOf(builtin) }

// Virtual returns the virtual resources. They are in no Registry, because they are not stored and cannot be watched.
func Virtual() []*Resource { return copyOf(virtual) }

// copyOf returns copies of resources, with the fields that follow from others.
func copyOf(resources []Resource) []*Resource {
	out := make([]*Resource, len(resources))
	for i, r := range resources {
		r.Singular = strings.ToLower(r.Kind)
		if r.ValidateName == nil {
			r.ValidateName = validation.NameIsDNSSubdomain
		}
		out[i] = &r
	}
	return out
}
