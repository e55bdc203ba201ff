package gateway

import (
	"net/http"
	"strings"
	"testing"
)

// runningPod creates a Pod that runs and is ready.
func (s *testServer) runningPod(name, labels string) {
	s.t.Helper()
	s.must(http.StatusCreated, "POST", pods, `{"metadata":{"name":"`+name+`","labels":{`+labels+`}},"spec":{`+podSpec+`}}`)
	s.must(http.StatusOK, "PATCH", pods+"/"+name+"/status", `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`, "Content-Type", mergeType)
}

// TestBindPod checks that a binding assigns a Pod to a Node, once, by the subresource and by the collection of bindings.
func TestBindPod(t *testing.T) {
	s := newTestServer(t)
	for _, name := range []string{"a", "b"} {
		s.must(http.StatusCreated, "POST", pods, `{"metadata":{"name":"`+name+`"},"spec":{`+podSpec+`}}`)
	}
	binding := func(name, node string) string {
		return `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"` + name + `","annotations":{"k":"v"}},"target":{"kind":"Node","name":"` + node + `"}}`
	}
	s.must(http.StatusCreated, "POST", pods+"/a/binding?dryRun=All", binding("a", "n1"))
	if spec := s.must(http.StatusOK, "GET", pods+"/a", "")["spec"].(map[string]any); spec["nodeName"] != nil {
		t.Errorf("a dry run has assigned the Pod: %v", spec)
	}
	for name, path := range map[string]string{"a": pods + "/a/binding", "b": strings.TrimSuffix(pods, "pods") + "bindings"} {
		if done := s.must(http.StatusCreated, "POST", path, binding(name, "n1")); done["kind"] != "Status" || done["status"] != "Success" {
			t.Errorf("POST %s: %v", path, done)
		}
		pod := s.must(http.StatusOK, "GET", pods+"/"+name, "")
		conditions, _ := pod["status"].(map[string]any)["conditions"].([]any)
		if pod["spec"].(map[string]any)["nodeName"] != "n1" || len(conditions) != 1 || conditions[0].(map[string]any)["type"] != "PodScheduled" {
			t.Errorf("after POST %s: %v", path, pod)
		}
		if again := s.must(http.StatusConflict, "POST", path, binding(name, "n2")); !strings.Contains(again["message"].(string), `already assigned to node "n1"`) {
			t.Errorf("again: %v", again)
		}
	}
	s.must(http.StatusBadRequest, "POST", pods+"/a/binding", binding("b", "n1"))
	s.must(http.StatusUnprocessableEntity, "POST", pods+"/a/binding", binding("a", ""))
	s.must(http.StatusNotFound, "POST", pods+"/none/binding", binding("none", "n1"))
	if a := s.do("PUT", pods+"/a/binding", binding("a", "n1")); a.code != http.StatusMethodNotAllowed || a.header.Get("Allow") != "POST" {
		t.Errorf("PUT: %d, Allow: %s", a.code, a.header.Get("Allow"))
	}
}

// TestEvictPod checks that an eviction deletes a Pod, and that a PodDisruptionBudget limits the evictions of running Pods.
func TestEvictPod(t *testing.T) {
	s := newTestServer(t)
	const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
	evict := func(code int, name, options string) map[string]any {
		t.Helper()
		return s.must(code, "POST", pods+"/"+name+"/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"`+name+`"},"deleteOptions":{`+options+`}}`)
	}
	for _, name := range []string{"a", "b", "c"} {
		s.runningPod(name, `"app":"web"`)
	}
	s.runningPod("free", "")
	s.must(http.StatusCreated, "POST", budgets, `{"metadata":{"name":"web"},"spec":{"minAvailable":2,"selector":{"matchLabels":{"app":"web"}}}}`)

	evict(http.StatusCreated, "free", `"dryRun":["All"]`)
	evict(http.StatusConflict, "free", `"preconditions":{"uid":"other"}`)
	for apiVersion, code := range map[string]int{"policy/v1beta1": http.StatusConflict, "policy/v1beta2": http.StatusBadRequest} {
		s.must(code, "POST", pods+"/free/eviction", `{"apiVersion":"`+apiVersion+`","kind":"Eviction","metadata":{"name":"free"},"deleteOptions":{"preconditions":{"uid":"other"}}}`)
	}
	evict(http.StatusCreated, "free", "")
	s.must(http.StatusNotFound, "GET", pods+"/free", "")

	if cause := causeOf(evict(http.StatusTooManyRequests, "a", "")); !strings.Contains(cause, "still being processed") {
		t.Errorf("before the budget has a status: %s", cause)
	}
	s.must(http.StatusOK, "PATCH", budgets+"/web/status", `{"status":{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":3,"desiredHealthy":2,"expectedPods":3}}`, "Content-Type", mergeType)
	evict(http.StatusCreated, "a", "")
	spent := s.must(http.StatusOK, "GET", budgets+"/web", "")["status"].(map[string]any)
	if disrupted, _ := spent["disruptedPods"].(map[string]any); spent["disruptionsAllowed"] != float64(0) || disrupted["a"] == nil {
		t.Errorf("after an eviction the budget is %v", spent)
	}
	s.must(http.StatusOK, "PATCH", budgets+"/web/status", `{"status":{"currentHealthy":2}}`, "Content-Type", mergeType)
	if cause := causeOf(evict(http.StatusTooManyRequests, "b", "")); cause != "The disruption budget web needs 2 healthy pods and has 2 currently" {
		t.Errorf("without disruptions allowed: %s", cause)
	}
	s.must(http.StatusOK, "GET", pods+"/b", "")

	s.must(http.StatusOK, "PATCH", pods+"/c/status", `{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`, "Content-Type", mergeType)
	evict(http.StatusCreated, "c", "") // it is not ready, and enough others are
	s.must(http.StatusCreated, "POST", budgets, `{"metadata":{"name":"second"},"spec":{"selector":{"matchLabels":{"app":"web"}}}}`)
	evict(http.StatusInternalServerError, "b", "")
	s.must(http.StatusOK, "PATCH", pods+"/b/status", `{"status":{"phase":"Failed"}}`, "Content-Type", mergeType)
	evict(http.StatusCreated, "b", "") // it no longer runs
}

// causeOf returns the message of the first cause of a Status.
func causeOf(status map[string]any) string {
	details, _ := status["details"].(map[string]any)
	causes, _ := details["causes"].([]any)
	if len(causes) == 0 {
		return ""
	}
	message, _ := causes[0].(map[string]any)["message"].(string)
	return message
}

// TestSubresourcesOfNodes checks that what needs a running Pod is answered with 501, and that discovery does not list it.
func TestSubresourcesOfNodes(t *testing.T) {
	s := newTestServer(t)
	for _, test := range []struct{ method, path string }{
		{"GET", pods + "/a/log?follow=true"}, {"POST", pods + "/a/exec?command=ls"}, {"GET", pods + "/a/attach"}, {"POST", pods + "/a/portforward"},
		{"GET", pods + "/a/proxy/index.html"}, {"GET", "/api/v1/namespaces/default/services/a/proxy"}, {"DELETE", "/api/v1/nodes/a/proxy/x/y"},
	} {
		if status := s.must(http.StatusNotImplemented, test.method, test.path, ""); status["reason"] != "NotImplemented" || !strings.Contains(status["message"].(string), "kubelet") {
			t.Errorf("%s %s: %v", test.method, test.path, status)
		}
	}
	if list := s.get("/api/v1").body; strings.Contains(list, "pods/log") || !strings.Contains(list, `"pods/eviction"`) {
		t.Errorf("discovery: %s", list)
	}
}
