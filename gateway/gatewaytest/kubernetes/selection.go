package kubernetes

import (
	"fmt"
	"slices"
	"strings"
)

// chosen are the tests that need nothing but the kinds that revtail has always served, and no controller.
var chosen = rule{"", []string{
	"[sig-api-machinery] AggregatedDiscovery should support aggregated discovery interface for CRDs",
	"[sig-api-machinery] AggregatedDiscovery should support raw aggregated discovery request for CRDs",
	"[sig-api-machinery] CustomResourceDefinition ",
	"[sig-api-machinery] CustomResourcePublishOpenAPI",
	"[sig-api-machinery] Discovery should validate PreferredVersion",
	"[sig-api-machinery] FieldValidation",
	"[sig-api-machinery] Garbage collector should not be blocked by dependency circle",
	"[sig-api-machinery] Namespaces should apply",
	"[sig-api-machinery] Namespaces should patch",
	"[sig-api-machinery] Servers with support for Table transformation",
	"[sig-api-machinery] Watchers",
	"[sig-api-machinery] server version",
	"[sig-apps] CronJob should support CronJob API operations",
	"[sig-auth] ServiceAccounts should run through the lifecycle",
	"[sig-auth] ServiceAccounts should update",
	"[sig-cli] Kubectl client Kubectl api-versions",
	"[sig-cli] Kubectl client Kubectl cluster-info",
	"[sig-cli] Kubectl client Kubectl diff",
	"[sig-cli] Kubectl client Kubectl run pod",
	"[sig-cli] Kubectl client Kubectl version",
	"[sig-cli] Kubectl client Proxy server",
	"[sig-instrumentation] Events",
	"[sig-network] API Server should provide secure master service",
	"[sig-network] Services should complete a service status lifecycle",
	"[sig-network] Services should delete a collection",
	"[sig-network] Services should find a service",
	"[sig-node] ConfigMap should fail to create",
	"[sig-node] ConfigMap should run through a ConfigMap lifecycle",
	"[sig-node] ConfigMap should update",
	"[sig-node] Lease",
	"[sig-node] Node Lifecycle",
	"[sig-node] Pods Extended Pods Set QOS Class",
	"[sig-node] Secrets should fail to create",
	"[sig-node] Secrets should patch",
	"[sig-node] Sysctls [LinuxOnly] should reject",
	"[sig-storage] CSIInlineVolumes should support CSIVolumeSource in Pod API",
	"[sig-storage] ConfigMap should be immutable",
	"[sig-storage] Secrets should be immutable",
}}

// controlled are the tests that need the controllers, the scheduler, or Pods that run, and no container.
var controlled = rule{"", []string{
	"[sig-api-machinery] AdmissionWebhook [Privileged:ClusterAdmin] should be able to create and update",
	"[sig-api-machinery] AdmissionWebhook [Privileged:ClusterAdmin] should reject",
	"[sig-api-machinery] Garbage collector",
	"[sig-api-machinery] OrderedNamespaceDeletion",
	"[sig-api-machinery] ResourceQuota",
	"[sig-api-machinery] Namespaces should ensure that all pods are removed",
	"[sig-api-machinery] Namespaces should ensure that all services are removed",
	"[sig-apps] ControllerRevision",
	"[sig-apps] Daemon set should list and delete",
	"[sig-apps] Daemon set should retry creating",
	"[sig-apps] Daemon set should run and stop",
	"[sig-apps] Daemon set should update pod",
	"[sig-apps] Daemon set should verify changes",
	"[sig-apps] Deployment Deployment should have a working scale",
	"[sig-apps] Deployment RecreateDeployment",
	"[sig-apps] Deployment RollingUpdateDeployment",
	"[sig-apps] Deployment deployment should delete old replica sets",
	"[sig-apps] Deployment deployment should support rollover",
	"[sig-apps] Deployment should",
	"[sig-apps] DisruptionController",
	"[sig-apps] Job should apply changes to a job status",
	"[sig-apps] Job should create pods for an Indexed job",
	"[sig-apps] Job should manage the lifecycle of a job",
	"[sig-apps] Job should run a job to completion when tasks sometimes fail and are locally restarted",
	"[sig-apps] Job with successPolicy should succeeded when all",
	"[sig-apps] ReplicaSet Replace and Patch",
	"[sig-apps] ReplicaSet Replicaset should have a working scale",
	"[sig-apps] ReplicaSet should adopt",
	"[sig-apps] ReplicaSet should list and delete",
	"[sig-apps] ReplicaSet should validate",
	"[sig-apps] ReplicationController should adopt",
	"[sig-apps] ReplicationController should get and update",
	"[sig-apps] ReplicationController should release",
	"[sig-apps] ReplicationController should surface a failure condition",
	"[sig-apps] ReplicationController should test the lifecycle",
	"[StatefulSetBasic] should have a working scale",
	"[StatefulSetBasic] should list, patch and delete",
	"[StatefulSetBasic] should validate",
	"[sig-architecture] Conformance Tests should have at least two untainted nodes",
	"[sig-auth] ServiceAccounts should allow opting out",
	"[sig-auth] ServiceAccounts should create a serviceAccountToken",
	"[sig-auth] ServiceAccounts should guarantee kube-root-ca.crt",
	"[sig-cli] Kubectl client Kubectl describe",
	"[sig-cli] Kubectl client Kubectl label",
	"[sig-cli] Kubectl client Kubectl patch",
	"[sig-cli] Kubectl client Kubectl replace",
	"[sig-cli] Kubectl client Kubectl server-side dry-run",
	"[sig-network] EndpointSlice should create and delete",
	"[sig-network] EndpointSliceMirroring",
	"[sig-network] EndpointsController",
	"[sig-node] Pods should be updated",
	"[sig-node] Pods should delete a collection",
	"[sig-node] Pods should get a host IP",
	"[sig-node] Pods should patch a pod status",
	"[sig-node] Pods should run through the lifecycle",
	"[sig-node] RuntimeClass should reject a Pod requesting a deleted RuntimeClass",
	"[sig-node] RuntimeClass should reject a Pod requesting a non-existent RuntimeClass",
	"[sig-scheduling] LimitRange",
	"[sig-scheduling] SchedulerPredicates",
	"[sig-scheduling] SchedulerPreemption",
}}

// waiting are the tests that wait for twenty seconds or more, whatever the server does.
var waiting = rule{"", []string{
	"[sig-api-machinery] CustomResourceDefinition Watch",
	"[sig-api-machinery] Servers with support for API chunking should return chunks",
	"[sig-api-machinery] Watchers should observe add",
	"[sig-auth] PodCertificateRequest API",
	"[sig-scheduling] SchedulerPreemption PriorityClass endpoints",
}}

// discovered are the resources of a cluster that the tests of discovery look for, beside those that revtail has always served.
const discovered = "validatingwebhookconfigurations.admissionregistration.k8s.io apiservices.apiregistration.k8s.io tokenreviews.authentication.k8s.io " +
	"horizontalpodautoscalers.autoscaling certificatesigningrequests.certificates.k8s.io endpointslices.discovery.k8s.io ingresses.networking.k8s.io " +
	"runtimeclasses.node.k8s.io poddisruptionbudgets.policy priorityclasses.scheduling.k8s.io storageclasses.storage.k8s.io"

// kinds are the tests that are run if revtail serves more kinds.
var kinds = []rule{
	{"certificatesigningrequests.certificates.k8s.io", []string{"should support CSR API operations"}},
	{"clustertrustbundles.certificates.k8s.io", []string{"certificates.k8s.io/v1 ClusterTrustBundles"}},
	{"csidrivers.storage.k8s.io", []string{"lifecycle of a CSIDriver"}},
	{"csinodes.storage.k8s.io", []string{"lifecycle of a csinode"}},
	{"csistoragecapacities.storage.k8s.io", []string{"CSIStorageCapacities API operations"}},
	{"deviceclasses.resource.k8s.io", []string{"resource.k8s.io/v1 DeviceClass"}},
	{"devicetaintrules.resource.k8s.io", []string{"resource.k8s.io/v1 DeviceTaintRule"}},
	{"endpoints", []string{"[sig-network] Endpoints should test the lifecycle"}},
	{"endpointslices.discovery.k8s.io", []string{"should support creating EndpointSlice API operations"}},
	{"flowschemas.flowcontrol.apiserver.k8s.io", []string{"should support FlowSchema API operations"}},
	{"ingressclasses.networking.k8s.io", []string{"should support creating IngressClass API operations"}},
	{"ingresses.networking.k8s.io", []string{"should support creating Ingress API operations"}},
	{"ipaddresses.networking.k8s.io", []string{"should support IPAddress API operations"}},
	{"mutatingadmissionpolicies.admissionregistration.k8s.io", []string{"[sig-api-machinery] MutatingAdmissionPolicy"}},
	{"persistentvolumes persistentvolumeclaims", []string{"lifecycle of a PV and a PVC", "changes to a pv/pvc status"}},
	{"podcertificaterequests.certificates.k8s.io", []string{"should support PodCertificateRequest API operations"}},
	{"podtemplates", []string{"[sig-node] PodTemplates", "[sig-api-machinery] Servers with support for API chunking should return chunks"}},
	{"priorityclasses.scheduling.k8s.io", []string{"verify PriorityClass endpoints"}},
	{"prioritylevelconfigurations.flowcontrol.apiserver.k8s.io", []string{"should support PriorityLevelConfiguration API operations"}},
	{"resourceclaims.resource.k8s.io", []string{"resource.k8s.io/v1 ResourceClaim [Conformance]"}},
	{"resourceclaimtemplates.resource.k8s.io", []string{"resource.k8s.io/v1 ResourceClaimTemplate"}},
	{"resourceslices.resource.k8s.io", []string{"resource.k8s.io/v1 ResourceSlice"}},
	{"resourcequotas", []string{"ResourceQuota should be able to update and delete", "ResourceQuota should manage the lifecycle", "changes to a resourcequota status"}},
	{"runtimeclasses.node.k8s.io", []string{"should support RuntimeClasses API operations"}},
	{"servicecidrs.networking.k8s.io", []string{"should support ServiceCIDR API operations"}},
	{"storageclasses.storage.k8s.io", []string{"lifecycle of a StorageClass"}},
	{"storageversionmigrations.storagemigration.k8s.io", []string{"storagemigration.k8s.io/v1 StorageVersionMigration"}},
	{"subjectaccessreviews.authorization.k8s.io localsubjectaccessreviews.authorization.k8s.io", []string{"[sig-auth] SubjectReview"}},
	{"validatingadmissionpolicies.admissionregistration.k8s.io", []string{"[sig-api-machinery] ValidatingAdmissionPolicy"}},
	{discovered, []string{"[sig-api-machinery] AggregatedDiscovery should support aggregated discovery interface [",
		"[sig-api-machinery] AggregatedDiscovery should support raw aggregated discovery endpoint", "[sig-api-machinery] Discovery should locate"}},
	{"volumeattachments.storage.k8s.io", []string{"[sig-storage] VolumeAttachment"}},
	{"volumeattributesclasses.storage.k8s.io", []string{"[sig-storage] VolumeAttributesClass"}},
}

// leftOut are the tests that are not run, with the reason. The first reason counts.
var leftOut = []rule{
	{"It waits for the server to compact, which kube-apiserver does after five minutes: longer than all the others together", []string{
		"should support continue listing from the last key"}},
	{"It needs the admission webhook, the conversion webhook or the API server that the test runs in a pod", []string{
		"[sig-api-machinery] AdmissionWebhook", "[sig-api-machinery] CustomResourceFieldSelectors", "[sig-api-machinery] CustomResourceConversionWebhook", "[sig-api-machinery] Aggregator"}},
	{"It needs Jobs that run for minutes, or fail: those of the nodes of KWOK succeed after five seconds", []string{"[sig-apps] CronJob", "[sig-apps] Job"}},
	{"It needs the endpoints of a kube-apiserver", []string{"[sig-network] API Server should have Endpoints"}},
	{"It needs a container, thus a node with a container runtime", []string{
		"[sig-apps]", "[sig-auth]", "[sig-cli]", "[sig-network]", "[sig-node]", "[sig-storage]"}},
}

// selection is what is done with the tests of the suite.
type selection struct {
	run     []string
	reasons map[string]string // of those that are not run
}

// choose makes the selection for a gateway that serves resources. The error names the tests for which nothing is decided, and the parts of
// names that no test has.
func choose(names []string, served map[string]bool) (selection, error) {
	s := selection{reasons: map[string]string{}}
	var undecided []string
	for _, name := range names {
		needs, isKind := find(kinds, name)
		excluded, isLeftOut := find(leftOut, name)
		switch missing := absent(needs.what, served); {
		case isKind && len(missing) > 0:
			s.reasons[name] = "revtail does not serve " + strings.Join(missing, ", ")
		case isKind, chosen.covers(name), controlled.covers(name):
			s.run = append(s.run, name)
		case isLeftOut:
			s.reasons[name] = excluded.what
		default:
			undecided = append(undecided, name)
		}
	}
	stale := unused(slices.Concat([]rule{chosen, controlled, waiting}, kinds, leftOut), names)
	if len(undecided)+len(stale) > 0 {
		return s, fmt.Errorf("selection.go: no decision about %q; no test is called %q", undecided, stale)
	}
	return s, nil
}

// absent returns the resources in a list that are not served.
func absent(resources string, served map[string]bool) (missing []string) {
	for name := range strings.FieldsSeq(resources) {
		if !served[name] {
			missing = append(missing, name)
		}
	}
	return missing
}

// failing are the tests that fail, with the reason. A run fails if another test fails, or if one of these passes.
var failing = []rule{}
