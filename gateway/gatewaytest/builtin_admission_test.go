package gatewaytest_test

import (
	"fmt"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"revtail/gateway/gatewaytest"
)

// TestBuiltinAdmission checks that a gateway decides about writes as the plugins ResourceQuota, LimitRanger, Priority, RuntimeClass and
// ServiceAccount of a kube-apiserver do. Neither has kube-controller-manager, so the test writes the status of quotas.
func TestBuiltinAdmission(t *testing.T) {
	t.Parallel()
	c := startWithoutAccounts(t)
	o := &objectComparison{comparison: c, t: t}
	o.both(t, write(http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgetDefinition))
	for _, server := range []apiServer{c.kube, c.revtail} {
		gatewaytest.Until(t, "a served custom resource", func() bool {
			return server.do(t, read("/apis/shop.example.com/v1/namespaces/default/widgets")).Code == http.StatusOK
		})
	}
	for _, object := range gatewaytest.ReadManifest(t, "testdata/builtin_admission.yaml") {
		o.set(t, object)
	}
	for _, server := range []apiServer{c.kube, c.revtail} {
		gatewaytest.Until(t, "quotas, limits and classes in force", func() bool { return inForce(t, server) })
	}
	for _, namespace := range []string{"default", "limited", "counted"} {
		for name, spec := range admittedPods {
			t.Run(namespace+"/"+name, func(t *testing.T) { c.tryPod(t, namespace, spec) })
		}
	}
	t.Run("claims", func(t *testing.T) { c.tryClaims(t) })
	t.Run("counts", func(t *testing.T) { c.tryCounts(t) })
	t.Run("classes", func(t *testing.T) { c.tryClasses(t) })
	const least = 250
	if t.Logf("%d answers compared", c.answers); c.answers < least {
		t.Errorf("%d answers compared, want at least %d", c.answers, least)
	}
}

// both sends a request to both servers, which have to create something.
func (o *objectComparison) both(t *testing.T, request apiRequest) {
	t.Helper()
	for _, server := range []apiServer{o.kube, o.revtail} {
		if answer := server.do(t, request); answer.Code >= http.StatusBadRequest {
			t.Fatalf("%s %s at %s: %d\n%v", request.method, request.path, server.url, answer.Code, answer.Body)
		}
	}
}

// set creates an object, and writes its status if it has one.
func (o *objectComparison) set(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	at := o.of(t, object)
	collection := at.collection
	if object.GetNamespace() != "" {
		collection = "/api/v1/namespaces/" + object.GetNamespace() + "/" + map[string]string{
			"LimitRange": "limitranges", "ResourceQuota": "resourcequotas", "ServiceAccount": "serviceaccounts"}[object.GetKind()]
	}
	o.both(t, write(http.MethodPost, collection, object.Object))
	if status := object.Object["status"]; status != nil {
		o.both(t, mergePatch(collection+"/"+object.GetName()+"/status", map[string]any{"status": status}))
	}
}

// inForce reports whether a server refuses what the last objects of the manifest forbid.
func inForce(t *testing.T, server apiServer) bool {
	t.Helper()
	const query = "?dryRun=All"
	configMap := map[string]any{"metadata": map[string]any{"name": "canary"}}
	return server.do(t, write(http.MethodPost, "/api/v1/namespaces/counted/configmaps"+query, configMap)).Code == http.StatusForbidden &&
		server.do(t, write(http.MethodPost, "/api/v1/namespaces/limited/pods"+query, podOf("canary", admittedPods["too much"]))).Code == http.StatusForbidden
}

// admittedPods are the members of the specs of Pods, by their names.
var admittedPods = map[string]string{
	"plain":                "",
	"account":              "serviceAccountName: build",
	"no account":           "serviceAccountName: lost",
	"no token":             "automountServiceAccountToken: false",
	"priority":             "priorityClassName: high",
	"no priority":          "priorityClassName: lost",
	"system priority":      "priorityClassName: system-cluster-critical",
	"own priority":         "priority: 7",
	"own default priority": "priority: 0",
	"preemption":           "{priorityClassName: high, preemptionPolicy: PreemptLowerPriority}",
	"runtime":              "{runtimeClassName: heavy, nodeSelector: {disk: fast}}",
	"no runtime":           "runtimeClassName: lost",
	"runtime conflict":     "{runtimeClassName: heavy, nodeSelector: {runtime: other}}",
	"own overhead":         "overhead: {cpu: 1}",
	"small":                "containers: [{name: c, image: i, resources: {requests: {cpu: 10m}}}]",
	"right":                "containers: [{name: c, image: i, resources: {requests: {cpu: 200m, memory: 64Mi}, limits: {cpu: 300m, memory: 64Mi}}}]",
	"too much":             "containers: [{name: c, image: i, resources: {requests: {cpu: 3}, limits: {cpu: 3}}}]",
	"wide":                 "containers: [{name: c, image: i, resources: {requests: {cpu: 100m}, limits: {cpu: 1}}}]",
	"two containers":       "containers: [{name: a, image: i}, {name: b, image: i, resources: {limits: {cpu: 1, memory: 1Gi}}}]",
	"first containers":     "initContainers: [{name: a, image: i, resources: {requests: {cpu: 4}}}]",
	"deadline":             "{activeDeadlineSeconds: 60, containers: [{name: c, image: i, resources: {requests: {cpu: 20m}, limits: {memory: 64Mi}}}]}",
}

func podOf(name, spec string) map[string]any {
	object := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}}
	var members map[string]any
	if err := yaml.Unmarshal([]byte(spec), &members); err != nil {
		panic(fmt.Sprintf("%s: %v", spec, err))
	}
	for member, value := range members {
		object["spec"].(map[string]any)[member] = value
	}
	return object
}

// tryPod compares the answers to writes of a Pod.
func (c *comparison) tryPod(t *testing.T, namespace, spec string) {
	t.Helper()
	o := &objectComparison{comparison: c, t: t}
	collection, pod := "/api/v1/namespaces/"+namespace+"/pods", podOf("tried", spec)
	path, as := collection+"/tried", "?fieldManager=test"
	o.try("create dry", write(http.MethodPost, collection+as+dryRun, pod))
	o.tryQuotas("quotas after the dry run")
	created := o.try("create", write(http.MethodPost, collection+as, pod))
	o.try("create again", write(http.MethodPost, collection+as, pod))
	o.try("create another dry", write(http.MethodPost, collection+as+dryRun, podOf("other", spec)))
	o.try("apply dry", applyPatch(collection+"/applied?fieldManager=applier&dryRun=All", podOf("applied", spec)))
	o.tryQuotas("quotas")
	if created.Code == http.StatusCreated {
		put := func(to apiServer) apiAnswer {
			return to.do(t, write(http.MethodPut, path+as, to.do(t, read(path)).Body))
		}
		o.compare("put", put(o.kube), put(o.revtail))
		o.try("put of the first", write(http.MethodPut, path+as, pod))
		o.try("patch", mergePatch(path+as, map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}}))
		o.try("deadline", mergePatch(path+as, map[string]any{"spec": map[string]any{"activeDeadlineSeconds": 30}}))
		for _, cpu := range []string{"250m", "5"} {
			o.tryResize(path+"/resize"+as, cpu)
		}
		o.tryQuotas("quotas after updates")
	}
	for _, server := range []apiServer{c.kube, c.revtail} {
		server.do(t, write(http.MethodDelete, path+"?gracePeriodSeconds=0", nil))
	}
	o.resetQuotas(t)
}

// tryResize compares the answers to a new size of a Pod. managedFields do not count: revtail's do not name this subresource.
func (o *objectComparison) tryResize(path, cpu string) {
	o.t.Helper()
	request := mergePatch(path, map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
		"name": "c", "image": "i", "resources": map[string]any{"requests": map[string]any{"cpu": cpu}, "limits": map[string]any{"cpu": cpu}}}}}})
	kube, revtail := o.kube.do(o.t, request), o.revtail.do(o.t, request)
	kube.dropManagedFields()
	revtail.dropManagedFields()
	o.compare("resize to "+cpu, kube, revtail)
}

// quotaCollection has the quotas of the manifest.
const quotaCollection = "/api/v1/namespaces/counted/resourcequotas"

// tryQuotas compares the status of the quotas.
func (o *objectComparison) tryQuotas(what string) {
	o.t.Helper()
	status := func(from apiServer) apiAnswer {
		list, _ := from.do(o.t, read(quotaCollection)).Body.(map[string]any)
		items, _ := list["items"].([]any)
		out := map[string]any{}
		for _, item := range items {
			quota := &unstructured.Unstructured{Object: item.(map[string]any)}
			out[quota.GetName()] = quota.Object["status"]
		}
		return apiAnswer{Body: out}
	}
	o.compare(what, status(o.kube), status(o.revtail))
}

// resetQuotas sets what is used to nothing, as a controller would that has seen the deletions.
func (o *objectComparison) resetQuotas(t *testing.T) {
	t.Helper()
	for _, object := range gatewaytest.ReadManifest(t, "testdata/builtin_admission.yaml") {
		if object.GetKind() == "ResourceQuota" {
			o.both(t, mergePatch(quotaCollection+"/"+object.GetName()+"/status", map[string]any{"status": object.Object["status"]}))
		}
	}
}

// tryClaims compares the answers to PersistentVolumeClaims.
func (c *comparison) tryClaims(t *testing.T) {
	t.Helper()
	o := &objectComparison{comparison: c, t: t}
	for _, namespace := range []string{"limited", "counted"} {
		for _, size := range []string{"1Gi", "20Gi", "1Mi"} {
			collection := "/api/v1/namespaces/" + namespace + "/persistentvolumeclaims"
			o.try("create "+size+" in "+namespace, write(http.MethodPost, collection+asTest, map[string]any{"metadata": map[string]any{"name": "tried"}, "spec": map[string]any{
				"storageClassName": "gold", "accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": size}}}}))
			o.tryQuotas("quotas")
			o.both(t, write(http.MethodDelete, collection, nil))
			o.resetQuotas(t)
		}
	}
}

// tryCounts compares the answers to objects that are only counted, and to Services.
func (c *comparison) tryCounts(t *testing.T) {
	t.Helper()
	o := &objectComparison{comparison: c, t: t}
	for i := range 3 {
		metadata := map[string]any{"name": fmt.Sprintf("tried-%d", i)}
		for collection, object := range map[string]map[string]any{
			"/api/v1/namespaces/counted/secrets":                     {"metadata": metadata},
			"/apis/shop.example.com/v1/namespaces/counted/widgets":   {"apiVersion": "shop.example.com/v1", "kind": "Widget", "metadata": metadata},
			"/apis/coordination.k8s.io/v1/namespaces/counted/leases": {"metadata": metadata},
		} {
			o.try("create", write(http.MethodPost, collection+asTest, object))
		}
		kind := []string{"ClusterIP", "NodePort", "LoadBalancer"}[i]
		answers := make([]apiAnswer, 0, 2)
		for _, server := range []apiServer{c.kube, c.revtail} { // which differ in what they allocate
			answer := server.do(t, write(http.MethodPost, "/api/v1/namespaces/counted/services"+asTest, map[string]any{"metadata": metadata,
				"spec": map[string]any{"type": kind, "ports": []any{map[string]any{"port": 80}}}}))
			if answer.Code == http.StatusCreated {
				answer.Body = nil
			}
			answers = append(answers, answer)
		}
		o.compare("service "+kind, answers[0], answers[1])
		o.tryQuotas("quotas")
	}
}

// tryClasses compares the answers to PriorityClasses of which one is the default, and to Pods that have it.
func (c *comparison) tryClasses(t *testing.T) {
	t.Helper()
	o := &objectComparison{comparison: c, t: t}
	const collection = "/apis/scheduling.k8s.io/v1/priorityclasses"
	class := func(name string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": name}, "value": 5, "globalDefault": true, "preemptionPolicy": "Never"}
	}
	o.try("default", write(http.MethodPost, collection+asTest, class("usual")))
	for _, server := range []apiServer{c.kube, c.revtail} {
		gatewaytest.Until(t, "a default PriorityClass in force", func() bool {
			return server.do(t, write(http.MethodPost, collection+"?dryRun=All", class("canary"))).Code == http.StatusForbidden
		})
	}
	o.try("second default", write(http.MethodPost, collection+asTest, class("other")))
	o.try("no second default", mergePatch(collection+"/high"+asTest, map[string]any{"globalDefault": true}))
	o.try("the default itself", mergePatch(collection+"/usual"+asTest, map[string]any{"description": "d"}))
	o.try("pod", write(http.MethodPost, "/api/v1/namespaces/default/pods"+asTest+dryRun, podOf("tried", "")))
}
