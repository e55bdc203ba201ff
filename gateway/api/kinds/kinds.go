package kinds

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/certificates/certificates"
	"k8s.io/kubernetes/pkg/registry/certificates/clustertrustbundle"
	"k8s.io/kubernetes/pkg/registry/certificates/podcertificaterequest"
	"k8s.io/kubernetes/pkg/registry/core/endpoint"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/discovery/endpointslice"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/networking/servicecidr"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"
	"k8s.io/kubernetes/pkg/registry/storagemigration/storagemigration"
	"k8s.io/utils/clock"

	"revtail/gateway/resource"
)

// kind is a kind with a strategy of Kubernetes.
type kind struct {
	goType     any
	plural     string
	strategy   objectStrategy
	status     updateStrategy // of the status subresource; nil: there is none
	short      string         // its short name; empty: it has none
	category   string         // of which it is; empty: none
	scale      *resource.Scale
	whole      map[string]updateStrategy // of other subresources whose representation is the object
	plain      bool                      // tables have the name and the time of creation only
	table      tableFunc                 // makes a table; nil: plain says how
	deprecated string                    // the warning for clients; empty: it is not deprecated
	storage    schema.GroupVersion       // of stored objects; empty: that of goType
	keys       string                    // the prefix of the keys, as resource.Resource.KeyPrefix
}

var coreGroup = []kind{
	{goType: corev1.Endpoints{}, //nolint:staticcheck // deprecated, and still in use
		plural: "endpoints", strategy: endpoint.Strategy, short: "ep",
		deprecated: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"},
	{goType: corev1.LimitRange{}, plural: "limitranges", strategy: limitrange.Strategy, short: "limits", plain: true},
	{goType: corev1.PersistentVolumeClaim{}, plural: "persistentvolumeclaims", strategy: persistentvolumeclaim.Strategy, status: persistentvolumeclaim.StatusStrategy, short: "pvc"},
	{goType: corev1.PersistentVolume{}, plural: "persistentvolumes", strategy: persistentvolume.Strategy, status: persistentvolume.StatusStrategy, short: "pv"},
	{goType: corev1.PodTemplate{}, plural: "podtemplates", strategy: podtemplate.Strategy},
	{goType: corev1.ReplicationController{}, plural: "replicationcontrollers", strategy: replicationcontroller.Strategy, status: replicationcontroller.StatusStrategy, short: "rc", category: "all",
		scale: &resource.Scale{SpecReplicas: []string{"spec", "replicas"}, StatusReplicas: []string{"status", "replicas"}, Selector: []string{"spec", "selector"}}},
	{goType: corev1.ResourceQuota{}, plural: "resourcequotas", strategy: resourcequota.Strategy, status: resourcequota.StatusStrategy, short: "quota"},
}

var otherGroups = []kind{
	{goType: admissionregistrationv1.MutatingAdmissionPolicy{}, plural: "mutatingadmissionpolicies", strategy: mutatingPolicy, category: extensions},
	{goType: admissionregistrationv1.MutatingAdmissionPolicyBinding{}, plural: "mutatingadmissionpolicybindings", strategy: mutatingBinding, category: extensions},
	{goType: admissionregistrationv1.MutatingWebhookConfiguration{}, plural: "mutatingwebhookconfigurations", strategy: mutatingwebhookconfiguration.Strategy, category: extensions},
	{goType: admissionregistrationv1.ValidatingAdmissionPolicy{}, plural: "validatingadmissionpolicies", strategy: validatingPolicy, status: validatingPolicyStatus, category: extensions},
	{goType: admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, plural: "validatingadmissionpolicybindings", strategy: validatingBinding, category: extensions},
	{goType: admissionregistrationv1.ValidatingWebhookConfiguration{}, plural: "validatingwebhookconfigurations", strategy: validatingwebhookconfiguration.Strategy, category: extensions},

	{goType: apiregistrationv1.APIService{}, plural: "apiservices", strategy: apiServices, status: apiServiceStatus, category: extensions, table: apiServiceTable,
		keys: "apiservices"},

	{goType: appsv1.ControllerRevision{}, plural: "controllerrevisions", strategy: controllerrevision.Strategy},

	{goType: autoscalingv2.HorizontalPodAutoscaler{}, plural: "horizontalpodautoscalers", strategy: horizontalpodautoscaler.Strategy, status: horizontalpodautoscaler.StatusStrategy, short: "hpa", category: "all"},
	{goType: autoscalingv1.HorizontalPodAutoscaler{}, plural: "horizontalpodautoscalers", strategy: horizontalpodautoscaler.Strategy, status: horizontalpodautoscaler.StatusStrategy, short: "hpa", category: "all",
		storage: autoscalingv2.SchemeGroupVersion},

	{goType: certificatesv1.CertificateSigningRequest{}, plural: "certificatesigningrequests", strategy: certificates.Strategy, status: certificates.StatusStrategy, short: "csr",
		whole: map[string]updateStrategy{"approval": certificates.ApprovalStrategy}},
	{goType: certificatesv1.ClusterTrustBundle{}, plural: "clustertrustbundles", strategy: clustertrustbundle.Strategy},
	{goType: certificatesv1.PodCertificateRequest{}, plural: "podcertificaterequests", strategy: podCertificateStrategy, status: podcertificaterequest.NewStatusStrategy(podCertificateStrategy, permitted{}, clock.RealClock{})},

	{goType: discoveryv1.EndpointSlice{}, plural: "endpointslices", strategy: endpointslice.Strategy},

	{goType: flowcontrolv1.FlowSchema{}, plural: "flowschemas", strategy: flowschema.Strategy, status: flowschema.StatusStrategy},
	{goType: flowcontrolv1.PriorityLevelConfiguration{}, plural: "prioritylevelconfigurations", strategy: prioritylevelconfiguration.Strategy, status: prioritylevelconfiguration.StatusStrategy},

	{goType: networkingv1.IngressClass{}, plural: "ingressclasses", strategy: ingressclass.Strategy},
	{goType: networkingv1.Ingress{}, plural: "ingresses", strategy: ingress.Strategy, status: ingress.StatusStrategy, short: "ing"},
	{goType: networkingv1.IPAddress{}, plural: "ipaddresses", strategy: ipaddress.Strategy, short: "ip"},
	{goType: networkingv1.NetworkPolicy{}, plural: "networkpolicies", strategy: networkpolicy.Strategy, short: "netpol"},
	{goType: networkingv1.ServiceCIDR{}, plural: "servicecidrs", strategy: servicecidr.Strategy, status: servicecidr.StatusStrategy},

	{goType: nodev1.RuntimeClass{}, plural: "runtimeclasses", strategy: runtimeclass.Strategy},

	{goType: policyv1.PodDisruptionBudget{}, plural: "poddisruptionbudgets", strategy: poddisruptionbudget.Strategy, status: poddisruptionbudget.StatusStrategy, short: "pdb"},

	{goType: rbacv1.ClusterRoleBinding{}, plural: "clusterrolebindings", strategy: clusterrolebinding.Strategy},
	{goType: rbacv1.ClusterRole{}, plural: "clusterroles", strategy: clusterrole.Strategy, plain: true},
	{goType: rbacv1.RoleBinding{}, plural: "rolebindings", strategy: rolebinding.Strategy},
	{goType: rbacv1.Role{}, plural: "roles", strategy: role.Strategy, plain: true},

	{goType: resourcev1.DeviceClass{}, plural: "deviceclasses", strategy: deviceclass.Strategy},
	{goType: resourcev1.DeviceTaintRule{}, plural: "devicetaintrules", strategy: devicetaintrule.Strategy, status: devicetaintrule.StatusStrategy},
	{goType: resourcev1.ResourceClaim{}, plural: "resourceclaims", strategy: claimStrategy, status: resourceclaim.NewStatusStrategy(claimStrategy)},
	{goType: resourcev1.ResourceClaimTemplate{}, plural: "resourceclaimtemplates", strategy: resourceclaimtemplate.NewStrategy(namespaces{})},
	{goType: resourcev1.ResourceSlice{}, plural: "resourceslices", strategy: resourceslice.Strategy},

	{goType: schedulingv1.PriorityClass{}, plural: "priorityclasses", strategy: priorityclass.Strategy, short: "pc"},

	{goType: storagev1.CSIDriver{}, plural: "csidrivers", strategy: csidriver.Strategy},
	{goType: storagev1.CSINode{}, plural: "csinodes", strategy: csinode.Strategy, status: csinode.StatusStrategy},
	{goType: storagev1.CSIStorageCapacity{}, plural: "csistoragecapacities", strategy: csistoragecapacity.Strategy, plain: true},
	{goType: storagev1.StorageClass{}, plural: "storageclasses", strategy: storageclass.Strategy, short: "sc"},
	{goType: storagev1.VolumeAttachment{}, plural: "volumeattachments", strategy: volumeattachment.Strategy, status: volumeattachment.StatusStrategy},
	{goType: storagev1.VolumeAttributesClass{}, plural: "volumeattributesclasses", strategy: volumeattributesclass.Strategy, short: "vac"},

	{goType: storagemigrationv1.StorageVersionMigration{}, plural: "storageversionmigrations", strategy: storagemigration.Strategy, status: storagemigration.StatusStrategy},
}

// Builtin returns the built-in kinds, in the order in which discovery shows them: those of package resource, and those of this one.
func Builtin() []*resource.Resource {
	own := resource.Builtin()
	for _, res := range own {
		attach(res)
	}
	out := make([]*resource.Resource, 0, len(own)+len(coreGroup)+len(otherGroups))
	first := 0
	for first < len(own) && own[first].Group == "" {
		first++
	}
	out = append(out, own[:first]...)
	out = appendKinds(out, coreGroup)
	out = append(out, own[first:]...)
	out = appendKinds(out, otherGroups)
	joinVersions(out)
	return out
}

func appendKinds(out []*resource.Resource, kinds []kind) []*resource.Resource {
	for _, k := range kinds {
		out = append(out, k.resource())
	}
	return out
}

// resource returns the resource of a kind.
func (k kind) resource() *resource.Resource {
	gvk := k.groupVersionKind()
	create, unconditional := updates(k.strategy)
	res := &resource.Resource{
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Plural: k.plural, Singular: strings.ToLower(gvk.Kind), GoType: k.goType,
		Namespaced: k.strategy.NamespaceScoped(), CreateOnUpdate: create,
		Storage: k.storage, KeyPrefix: k.keys, UnconditionalUpdate: unconditional, Status: k.status != nil, Scale: k.scale, Whole: slices.Sorted(maps.Keys(k.whole)), Deprecation: k.deprecated,
	}
	if k.short != "" {
		res.ShortNames = []string{k.short}
	}
	if k.category != "" {
		res.Categories = []string{k.category}
	}
	setDeletion(res)
	own := &strategy{resource: res, kind: gvk, object: k.strategy, status: k.status, whole: k.whole}
	own.zero = zeroObject(own.kind, reflect.TypeOf(k.goType))
	own.shareCopies()
	res.Strategy, res.Printer = own, printer{own, k.table}
	if k.table == nil {
		res.Printer = printer{own, tables(k.plain)}
	}
	return res
}

// updates reports whether a PUT creates an object of a kind that is absent, and whether it may leave out the resourceVersion.
func updates(s objectStrategy) (create, unconditional bool) {
	ctx := genericrequest.NewContext() // which no strategy reads for this
	return s.AllowCreateOnUpdate(ctx), s.AllowUnconditionalUpdate(ctx)
}

// groupVersionKind returns the kind of the Go type.
func (k kind) groupVersionKind() schema.GroupVersionKind {
	t := reflect.TypeOf(k.goType)
	known, _, err := legacyscheme.Scheme.ObjectKinds(reflect.New(t).Interface().(runtime.Object)) // panics for what is no API type
	if err != nil || len(known) != 1 {
		panic(fmt.Sprintf("kinds: %s is registered as %v: %v", t, known, err))
	}
	return known[0]
}
