package kinds

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	pvcutil "k8s.io/kubernetes/pkg/api/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/apis/core"

	"revtail/gateway/resource"
)

// InCluster returns the built-in kinds as a kube-apiserver stores them: their keys are those of its layout, and their values are protobuf or
// JSON of any version that Kubernetes has had. Such resources can be read only.
func InCluster() []*resource.Resource {
	all := Builtin()
	for _, res := range all {
		res.KeyPrefix = res.ClusterPrefix()
		res.StorageVersion = clusterVersions[schema.GroupResource{Group: res.Group, Resource: res.Plural}]
		res.Decode = clusterDecoder(groupVersionKind(res))
	}
	return all
}

// clusterVersions are the versions in which a kube-apiserver 1.37 stores resources, if they are other ones than it serves.
var clusterVersions = map[schema.GroupResource]string{
	{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}:          "v1beta1",
	{Group: "certificates.k8s.io", Resource: "podcertificaterequests"}:       "v1beta1",
	{Group: "resource.k8s.io", Resource: "devicetaintrules"}:                 "v1beta2",
	{Group: "storagemigration.k8s.io", Resource: "storageversionmigrations"}: "v1beta1",
}

// ClusterResource returns the resource of the objects that a kube-apiserver stores under a key, which need not be served; false: no object has
// the key. It is the resource that names the providers of an EncryptionConfiguration.
func ClusterResource(root, key string) (of schema.GroupResource, ok bool) {
	rest, ok := strings.CutPrefix(key, root+"/")
	if !ok {
		return of, false
	}
	segments := strings.SplitN(rest, "/", 3)
	if len(segments) < 2 {
		return of, false
	}
	known := clusterResources()
	if of, ok = known[segments[0]]; ok {
		return of, true
	}
	if of, ok = known[segments[0]+"/"+segments[1]]; ok {
		return of, true
	}
	return schema.GroupResource{Group: segments[0], Resource: segments[1]}, len(segments) == 3
}

// clusterResources are the built-in resources by their prefixes. Of two with the same keys it has that of the stored objects.
var clusterResources = sync.OnceValue(func() map[string]schema.GroupResource {
	out := make(map[string]schema.GroupResource)
	for _, res := range Builtin() {
		if res.IsStored() {
			out[res.ClusterPrefix()] = schema.GroupResource{Group: res.Group, Resource: res.Plural}
		}
	}
	return out
})

// clusterDecoder returns the function that decodes values of a kind, as kube-apiserver reads them: it sets the defaults of the version that is
// stored, converts the object to the internal type, completes it, and converts it to the version that is served.
func clusterDecoder(served schema.GroupVersionKind) func([]byte) ([]byte, error) {
	decoder := legacyscheme.Codecs.UniversalDecoder()
	return func(value []byte) ([]byte, error) {
		internal, stored, err := decoder.Decode(value, nil, nil)
		if err != nil {
			return nil, err
		}
		if stored.Kind != served.Kind {
			return nil, fmt.Errorf("the value is a %s, and not a %s", stored.Kind, served.Kind)
		}
		completeOnRead(internal)
		typed, err := legacyscheme.Scheme.UnsafeConvertToVersion(internal, served.GroupVersion())
		if err != nil {
			return nil, err
		}
		typed.GetObjectKind().SetGroupVersionKind(served)
		return json.Marshal(typed)
	}
}

// completeOnRead completes objects of releases that lacked fields, as the stores of kube-apiserver do when they read an object.
func completeOnRead(object runtime.Object) {
	switch o := object.(type) {
	case *core.Service:
		completeService(&o.Spec)
	case *core.PersistentVolumeClaim:
		pvcutil.NormalizeDataSources(&o.Spec)
	}
}

// completeService sets clusterIPs and the IP families of a service. The first family of the cluster is taken to be IPv4, because
// nothing in etcd says it.
func completeService(spec *core.ServiceSpec) {
	if spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	dropTrafficPolicy(spec)
	if spec.Type == core.ServiceTypeExternalName || len(spec.IPFamilies) > 0 || spec.ClusterIP == "" {
		return
	}
	if spec.ClusterIP == core.ClusterIPNone {
		spec.IPFamilyPolicy = nil
		setFamilies(spec)
		return
	}
	for _, ip := range spec.ClusterIPs {
		spec.IPFamilies = append(spec.IPFamilies, familyOf(ip))
	}
	spec.IPFamilyPolicy = new(core.IPFamilyPolicySingleStack)
	if len(spec.IPFamilies) > 1 {
		spec.IPFamilyPolicy = new(core.IPFamilyPolicyRequireDualStack)
	}
}
