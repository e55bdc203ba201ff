package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// podNamespaces is the number of namespaces with Pods.
const podNamespaces = 50

// storedPod returns the key and the value of the i-th Pod, in protobuf.
func storedPod(i int) (string, []byte) {
	namespace := fmt.Sprintf("team-%02d", i%podNamespaces)
	pod := newPod(namespace, fmt.Sprintf("web-%06d-6d5f8c9b7d-%05x", i/20, i), i)
	return "/registry/pods/" + namespace + "/" + pod.Name, messageOf("v1", "Pod", pod)
}

// newPod returns a running Pod of a Deployment, as KWOK makes them: 2 to 4 KB in protobuf, by its number of containers and of variables.
func newPod(namespace, name string, i int) *v1.Pod {
	set := name[:strings.LastIndexByte(name, '-')]
	app := set[:strings.LastIndexByte(set, '-')]
	created := metav1.Unix(1_795_000_000+int64(i), 0)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, GenerateName: set + "-", Namespace: namespace, UID: podUID(i), Generation: 1, CreationTimestamp: created,
		Labels:          map[string]string{"app.kubernetes.io/name": app, "app.kubernetes.io/instance": app, "app.kubernetes.io/managed-by": "Helm", "pod-template-hash": "6d5f8c9b7d", "tier": "web"},
		Annotations:     map[string]string{"prometheus.io/scrape": "true", "checksum/config": strings.Repeat("5f2c", 16)},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set, UID: podUID(i / 20), Controller: new(true), BlockOwnerDeletion: new(true)}},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &created, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(podFields)},
			{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &created, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(podStatusFields), Subresource: "status"},
		},
	}, Spec: podSpec(app, i)}
	for n := range 1 + i%2 {
		pod.Spec.Containers = append(pod.Spec.Containers, podContainer(fmt.Sprintf("%s-%d", app, n), i%7))
	}
	pod.Status = podStatus(pod, created, i)
	return pod
}

func podUID(i int) types.UID {
	return types.UID(fmt.Sprintf("5ad16b2c-9d0a-4b44-8f0e-%012x", i))
}

func podSpec(app string, i int) v1.PodSpec {
	token := v1.VolumeProjection{ServiceAccountToken: &v1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}}
	authority := v1.VolumeProjection{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: v1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []v1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}}
	tolerate := func(key string) v1.Toleration {
		return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}
	}
	return v1.PodSpec{
		NodeName: fmt.Sprintf("kwok-node-%04d", i%1000), ServiceAccountName: app, DeprecatedServiceAccount: app, SchedulerName: "default-scheduler",
		RestartPolicy: v1.RestartPolicyAlways, DNSPolicy: v1.DNSClusterFirst, TerminationGracePeriodSeconds: new(int64(30)), Priority: new(int32(0)),
		EnableServiceLinks: new(true), PreemptionPolicy: new(v1.PreemptLowerPriority), SecurityContext: &v1.PodSecurityContext{RunAsNonRoot: new(true), FSGroup: new(int64(65532))},
		Tolerations: []v1.Toleration{tolerate("node.kubernetes.io/not-ready"), tolerate("node.kubernetes.io/unreachable")},
		Volumes: []v1.Volume{
			{Name: "config", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: app}, DefaultMode: new(int32(420))}}},
			{Name: "kube-api-access-x7k2p", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{token, authority}, DefaultMode: new(int32(420))}}},
		},
	}
}

func podContainer(name string, variables int) v1.Container {
	probe := func(path string) *v1.Probe {
		return &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: path, Port: intstr.FromString("http"), Scheme: v1.URISchemeHTTP}},
			TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3}
	}
	c := v1.Container{
		Name: name, Image: "registry.example.com/team/" + name + ":v1.27.3", ImagePullPolicy: v1.PullIfNotPresent,
		Ports:          []v1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: v1.ProtocolTCP}, {Name: "metrics", ContainerPort: 9090, Protocol: v1.ProtocolTCP}},
		Resources:      v1.ResourceRequirements{Requests: quantities("100m", "128Mi"), Limits: quantities("1", "512Mi")},
		ReadinessProbe: probe("/readyz"),
		VolumeMounts: []v1.VolumeMount{{Name: "config", MountPath: "/etc/app", ReadOnly: true},
			{Name: "kube-api-access-x7k2p", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
		TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: v1.TerminationMessageReadFile,
		SecurityContext: &v1.SecurityContext{AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), Capabilities: &v1.Capabilities{Drop: []v1.Capability{"ALL"}}},
	}
	for i := range variables {
		c.Env = append(c.Env, v1.EnvVar{Name: fmt.Sprintf("APP_SETTING_%02d", i), Value: fmt.Sprintf("https://backend-%02d.example.svc:8443", i)})
	}
	return c
}

func quantities(cpu, memory string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
}

func podStatus(pod *v1.Pod, at metav1.Time, i int) v1.PodStatus {
	ip := fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)
	s := v1.PodStatus{Phase: v1.PodRunning, HostIP: "192.0.2.7", HostIPs: []v1.HostIP{{IP: "192.0.2.7"}}, PodIP: ip, PodIPs: []v1.PodIP{{IP: ip}}, StartTime: &at,
		QOSClass: v1.PodQOSBurstable, ObservedGeneration: 1}
	for _, kind := range []v1.PodConditionType{v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled} {
		s.Conditions = append(s.Conditions, v1.PodCondition{Type: kind, Status: v1.ConditionTrue, LastTransitionTime: at})
	}
	for _, c := range pod.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, v1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: c.Image + "@sha256:" + strings.Repeat("9a4e", 16),
			ContainerID: "containerd://" + strings.Repeat("c0d1", 16), Ready: true, Started: new(true), State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: at}}})
	}
	return s
}

// The fields that the managers of a Pod own.
const (
	podFields = `{"f:metadata":{"f:annotations":{".":{},"f:checksum/config":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/name":{},` +
		`"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"5ad16b2c-9d0a-4b44-8f0e-1d6ab6a0c1f7\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:env":{},` +
		`"f:image":{},"f:name":{},"f:ports":{},"f:readinessProbe":{},"f:resources":{}}},"f:restartPolicy":{},"f:volumes":{}}}`
	podStatusFields = `{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},"f:type":{}}},` +
		`"f:containerStatuses":{},"f:hostIP":{},"f:hostIPs":{},"f:phase":{},"f:podIP":{},"f:podIPs":{},"f:startTime":{}}}`
)

// listPods lists all Pods in pages, as kubectl does, and checks that there are n of them.
func listPods(ctx context.Context, e endpoint, n int) error {
	c, err := dial(ctx, e)
	if err != nil {
		return err
	}
	defer c.close()
	names, next := make(map[string]bool, n), ""
	for first := true; first || next != ""; first = false {
		a, err := c.send("GET", "/api/v1/pods?limit=500&continue="+url.QueryEscape(next), nil)
		if err != nil {
			return err
		}
		var page struct {
			Metadata struct{ Continue string }
			Items    []struct{ Metadata metadata }
		}
		if err := json.Unmarshal(a.body, &page); err != nil {
			return fmt.Errorf("the Pods: %w", err)
		}
		for _, item := range page.Items {
			names[item.Metadata.Name] = true
		}
		next = page.Metadata.Continue
	}
	if len(names) != n {
		return fmt.Errorf("a list of %d Pods, want %d", len(names), n)
	}
	return nil
}
