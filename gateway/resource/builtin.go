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

// builtin are the built-in kinds. Their objects are stored as clients write them, with defaults. Revtail has no controllers.
var builtin = []Resource{
	{Version: "v1", Plural: "namespaces", Ungenerated: true, Kind: "Namespace", ShortNames: []string{"ns"}, Status: true, UnconditionalUpdate: true,
		GoType: corev1.Namespace{}, ValidateName: validation.ValidateNamespaceName, Defaults: namespaceDefaults},
	{Version: "v1", Plural: "nodes", Ungenerated: true, Kind: "Node", ShortNames: []string{"no"}, Status: true, UnconditionalUpdate: true, GoType: corev1.Node{}},
	{Version: "v1", Plural: "pods", Kind: "Pod", Namespaced: true, ShortNames: []string{"po"}, Categories: []string{"all"}, Status: true,
		UnconditionalUpdate: true, GoType: corev1.Pod{}},
	{Version: "v1", Plural: "services", Ungenerated: true, Kind: "Service", Namespaced: true, ShortNames: []string{"svc"}, Categories: []string{"all"}, Status: true,
		UnconditionalUpdate: true, GoType: corev1.Service{}, ValidateName: validation.NameIsDNS1035Label},
	{Version: "v1", Plural: "configmaps", Ungenerated: true, Kind: "ConfigMap", Namespaced: true, ShortNames: []string{"cm"}, UnconditionalUpdate: true,
		GoType: corev1.ConfigMap{}},
	{Version: "v1", Plural: "secrets", Ungenerated: true, Kind: "Secret", Namespaced: true, UnconditionalUpdate: true, GoType: corev1.Secret{}},
	{Version: "v1", Plural: "serviceaccounts", Ungenerated: true, Kind: "ServiceAccount", Namespaced: true, ShortNames: []string{"sa"}, UnconditionalUpdate: true,
		GoType: corev1.ServiceAccount{}, ValidateName: validation.ValidateServiceAccountName},
	{Version: "v1", Plural: "events", Ungenerated: true, Kind: "Event", Namespaced: true, ShortNames: []string{"ev"}, CreateOnUpdate: true, UnconditionalUpdate: true,
		GoType: corev1.Event{}},

	{Group: "apps", Version: "v1", Plural: "deployments", Kind: "Deployment", Namespaced: true, ShortNames: []string{"deploy"},
		Categories: []string{"all"}, Status: true, UnconditionalUpdate: true, Scale: replicas, GoType: appsv1.Deployment{},
		Defaults: deploymentDefaults},
	{Group: "apps", Version: "v1", Plural: "replicasets", Kind: "ReplicaSet", Namespaced: true, ShortNames: []string{"rs"},
		Categories: []string{"all"}, Status: true, UnconditionalUpdate: true, Scale: replicas, GoType: appsv1.ReplicaSet{},
		Defaults: replicaSetDefaults},
	{Group: "apps", Version: "v1", Plural: "statefulsets", Kind: "StatefulSet", Namespaced: true, ShortNames: []string{"sts"},
		Categories: []string{"all"}, Status: true, UnconditionalUpdate: true, Scale: replicas, GoType: appsv1.StatefulSet{},
		Defaults: statefulSetDefaults},
	{Group: "apps", Version: "v1", Plural: "daemonsets", Kind: "DaemonSet", Namespaced: true, ShortNames: []string{"ds"},
		Categories: []string{"all"}, Status: true, UnconditionalUpdate: true, GoType: appsv1.DaemonSet{},
		Defaults: daemonSetDefaults},

	{Group: "batch", Version: "v1", Plural: "jobs", Kind: "Job", Namespaced: true, Categories: []string{"all"}, Status: true,
		UnconditionalUpdate: true, GoType: batchv1.Job{}},
	{Group: "batch", Version: "v1", Plural: "cronjobs", Kind: "CronJob", Namespaced: true, ShortNames: []string{"cj"},
		Categories: []string{"all"}, Status: true, UnconditionalUpdate: true, GoType: batchv1.CronJob{}},

	{Group: "coordination.k8s.io", Version: "v1", Plural: "leases", Ungenerated: true, Kind: "Lease", Namespaced: true, CreateOnUpdate: true,
		GoType: coordinationv1.Lease{}},
	{Group: "events.k8s.io", Version: "v1", Plural: "events", Ungenerated: true, Kind: "Event", Namespaced: true, ShortNames: []string{"ev"},
		CreateOnUpdate: true, UnconditionalUpdate: true, GoType: eventsv1.Event{}},
}

// replicas is the scale subresource of workloads.
var replicas = &Scale{SpecReplicas: []string{"spec", "replicas"}, StatusReplicas: []string{"status", "replicas"}, Selector: []string{"spec", "selector"}}

// virtual are the reviews, by which clients read their user and their permissions.
var virtual = []Resource{
	{Group: "authentication.k8s.io", Version: "v1", Plural: "selfsubjectreviews", Kind: "SelfSubjectReview", Virtual: true,
		GoType: authenticationv1.SelfSubjectReview{}},
	{Group: "authorization.k8s.io", Version: "v1", Plural: "selfsubjectaccessreviews", Kind: "SelfSubjectAccessReview", Virtual: true,
		GoType: authorizationv1.SelfSubjectAccessReview{}},
	{Group: "authorization.k8s.io", Version: "v1", Plural: "selfsubjectrulesreviews", Kind: "SelfSubjectRulesReview", Virtual: true,
		GoType: authorizationv1.SelfSubjectRulesReview{}},
}

// Builtin returns the built-in kinds, in the order in which discovery shows them.
func Builtin() []*Resource { return copyOf(builtin) }

// Virtual returns the virtual resources. They are in no Registry, because they cannot be read or watched.
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
