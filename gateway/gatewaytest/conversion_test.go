package gatewaytest_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"revtail/gateway/gatewaytest"
)

const gadgets = "/apis/shop.example.com/"

// conversionComparison compares the answers about gadgets.
type conversionComparison struct {
	*objectComparison
	webhook *conversionWebhook
}

func collectionIn(version string) string { return gadgets + version + "/namespaces/default/gadgets" }

var gadgetVersions = []string{"v1", "v2"}

// TestConversion checks that a gateway gives the answers of a kube-apiserver about custom resources that a webhook converts, in all of their
// versions, also when the webhook fails in each of some ways.
func TestConversion(t *testing.T) {
	t.Parallel()
	c := &conversionComparison{&objectComparison{comparison: startComparison(t), t: t}, startConversionWebhook(t)}
	c.tryDefinitions()
	c.define(c.webhook.gadgetDefinition("v1", "Size at first"), http.MethodPost, "Size at first")
	c.tryWrites("first")
	t.Run("watches", func(t *testing.T) { c.in(t).tryWatches() })
	t.Run("policies", func(t *testing.T) { c.in(t).tryPolicies() })
	c.define(c.webhook.gadgetDefinition("v2", "Size then"), http.MethodPatch, "Size then")
	t.Run("another storage version", func(t *testing.T) { c.in(t).tryWrites("second") })
	t.Run("watches of both", func(t *testing.T) { c.in(t).tryWatches() })
	var ways []string
	for how := range breakdowns {
		ways = append(ways, how)
	}
	slices.Sort(ways)
	for _, how := range ways {
		t.Run(how, func(t *testing.T) { c.in(t).tryBroken(how) })
	}
	t.Run("nobody listens", func(t *testing.T) {
		c = c.in(t)
		working := c.webhook.url
		c.webhook.url = strings.TrimSuffix(lostWebhook, "/convert")
		c.define(c.webhook.gadgetDefinition("v2", "Size then"), http.MethodPatch, lostWebhook)
		c.webhook.url = working
		for _, version := range gadgetVersions {
			c.same("read in "+version, read(collectionIn(version)+"/first-v1"))
			c.same("patch in "+version, mergePatch(collectionIn(version)+"/first-v1"+asTest, map[string]any{"metadata": map[string]any{"labels": map[string]any{"x": "y"}}}))
			c.same("delete in "+version, apiRequest{method: http.MethodDelete, path: collectionIn(version) + "/first-v1"})
			// A kube-apiserver answers 429 from now on, because its cache has no state.
			if answer := c.revtail.do(t, read(collectionIn(version))); answer.Code != http.StatusInternalServerError || !strings.Contains(fmt.Sprint(answer.Body), lostWebhook) {
				t.Errorf("list in %s: %d %v, want 500 and the reason", version, answer.Code, answer.Body)
			}
		}
		c.define(c.webhook.gadgetDefinition("v2", "Size at last"), http.MethodPatch, "Size at last")
		c.tryReads("first")
	})
	const least = 300
	if t.Logf("%d answers compared, %d calls of the webhook", c.answers, c.webhook.count()); c.answers < least {
		t.Errorf("%d answers compared, want at least %d", c.answers, least)
	}
}

func (c *conversionComparison) in(t *testing.T) *conversionComparison {
	t.Helper()
	return &conversionComparison{&objectComparison{comparison: c.comparison, t: t}, c.webhook}
}

// tryDefinitions tries conversions that are refused.
func (c *conversionComparison) tryDefinitions() {
	c.t.Helper()
	for what, conversion := range map[string]any{
		"no webhook":          map[string]any{"strategy": "Webhook"},
		"another strategy":    map[string]any{"strategy": "Guess"},
		"a webhook for none":  map[string]any{"strategy": "None", "webhook": webhookAt("https://localhost/x", "v1")},
		"no client":           map[string]any{"strategy": "Webhook", "webhook": map[string]any{"conversionReviewVersions": []any{"v1"}}},
		"no review version":   map[string]any{"strategy": "Webhook", "webhook": webhookAt("https://localhost/x")},
		"unknown reviews":     map[string]any{"strategy": "Webhook", "webhook": webhookAt("https://localhost/x", "v9")},
		"plain HTTP":          map[string]any{"strategy": "Webhook", "webhook": webhookAt("http://localhost/x", "v1")},
		"a user in the URL":   map[string]any{"strategy": "Webhook", "webhook": webhookAt("https://a:b@localhost/x", "v1")},
		"a query in the URL":  map[string]any{"strategy": "Webhook", "webhook": webhookAt("https://localhost/x?y=z", "v1")},
		"a relative URL":      map[string]any{"strategy": "Webhook", "webhook": webhookAt("localhost/x", "v1")},
		"a conversion of one": "Webhook",
	} {
		definition := c.webhook.gadgetDefinition("v1", "Size")
		definition["spec"].(map[string]any)["conversion"] = conversion
		c.same("a definition with "+what, write(http.MethodPost, definitions+asTest, definition))
	}
	unpruned := c.webhook.gadgetDefinition("v1", "Size")
	unpruned["spec"].(map[string]any)["preserveUnknownFields"] = true
	c.same("a definition that keeps unknown fields", write(http.MethodPost, definitions+asTest, unpruned))
}

func webhookAt(url string, versions ...any) map[string]any {
	return map[string]any{"conversionReviewVersions": versions, "clientConfig": map[string]any{"url": url}}
}

// define writes the definition of gadgets, and waits until both servers serve it: until an answer has the mark.
func (c *conversionComparison) define(definition map[string]any, method, mark string) {
	c.t.Helper()
	path := definitions
	if method == http.MethodPatch {
		path += "/gadgets.shop.example.com"
	}
	for _, server := range []apiServer{c.kube, c.revtail} {
		request := write(method, path, definition)
		if method == http.MethodPatch {
			request = mergePatch(path, map[string]any{"spec": definition["spec"]})
		}
		if answer := server.do(c.t, request); answer.Code >= http.StatusBadRequest {
			c.t.Fatalf("the definition at %s: %d %v", server.url, answer.Code, answer.Body)
		}
		served := read(collectionIn("v1"))
		served.accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
		if mark == lostWebhook {
			served = read(collectionIn("v1") + "/first-v1")
		}
		gatewaytest.Until(c.t, mark, func() bool { return strings.Contains(fmt.Sprint(server.do(c.t, served).Body), mark) })
	}
}

const dryRunOnly = "?dryRun=All"

// lostWebhook is the URL of a webhook that does not exist.
const lostWebhook = "https://localhost:1/convert"

// same compares the answers to one request, without resource versions.
func (c *conversionComparison) same(what string, request apiRequest) {
	c.t.Helper()
	c.compare(what, versionless(c.kube.do(c.t, request)), versionless(c.revtail.do(c.t, request)))
}

func versionless(a apiAnswer) apiAnswer {
	if text, ok := a.Body.(string); ok && strings.HasPrefix(text, "{") { // a watch
		var events []any
		for line := range strings.Lines(text) {
			var event any
			if json.Unmarshal([]byte(line), &event) == nil {
				events = append(events, event)
			}
		}
		a.Body = events
	}
	withoutVersions(a.Body)
	return a
}

func withoutVersions(value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			switch {
			case name == "resourceVersion":
				v[name] = "version"
			case name == "continue" && member == "":
				delete(v, name) // which revtail writes in lists of metadata
			case name == "message" && strings.HasPrefix(member.(string), "Apply failed with"): // conflicts have no order in kube-apiserver
				v[name] = slices.Sorted(strings.SplitSeq(member.(string), "\n"))
			case name == "managedFields", name == "causes":
				slices.SortFunc(member.([]any), func(a, b any) int { return strings.Compare(timeless(a), timeless(b)) })
			case name == "reason" && member == "InternalError":
				delete(v, name) // which kube-apiserver has only in answers to GET
			case name == "message":
				v[name] = corrupt.ReplaceAllString(member.(string), "")
			case name == "details" && strings.Contains(fmt.Sprint(member), "StorageError"):
				delete(v, name)
			case name == "columnDefinitions": // they have other descriptions
				for _, column := range member.([]any) {
					delete(column.(map[string]any), "description")
				}
			}
			withoutVersions(member)
		}
	case []any:
		for _, element := range v {
			withoutVersions(element)
		}
	}
}

// corrupt is what kube-apiserver says, and revtail does not, of an object that it reads from etcd and cannot convert.
var corrupt = regexp.MustCompile(`^(Internal error occurred: StorageError: .*)?object not decodable revision=[0-9]+: `)

// timeless returns a text of an entry of managedFields, or of a cause, without its time.
func timeless(value any) string {
	entry := value.(map[string]any)
	return fmt.Sprint(entry["field"], entry["message"], entry["manager"], entry["operation"], entry["apiVersion"], entry["subresource"])
}

// tryWrites creates gadgets, changes them and reads them, in all versions.
func (c *conversionComparison) tryWrites(prefix string) {
	c.t.Helper()
	for _, version := range gadgetVersions {
		in := collectionIn(version)
		name := prefix + "-" + version
		c.same("dry create in "+version, write(http.MethodPost, in+asTest+dryRun, gadget(version, name, "large", map[string]any{"a": "b"})))
		c.same("create in "+version, write(http.MethodPost, in+asTest, gadget(version, name, "large", map[string]any{"a": "b"})))
		c.same("create again in "+version, write(http.MethodPost, in+asTest, gadget(version, name, "large", nil)))
		c.tryReads(prefix)
		for _, other := range gadgetVersions {
			path := collectionIn(other) + "/" + name
			labels := map[string]any{"metadata": map[string]any{"labels": map[string]any{"in": other}}}
			c.same("patch in "+other, mergePatch(path+asTest, labels))
			c.same("dry patch in "+other, mergePatch(path+asTest+dryRun, map[string]any{"metadata": map[string]any{"labels": map[string]any{"dry": other}}}))
			c.same("patch without a change in "+other, mergePatch(path+asTest, labels))
			status := map[string]any{"status": map[string]any{"seen": 1}}
			if other == "v2" {
				status = map[string]any{"status": map[string]any{"observed": 2}}
			}
			c.same("patch of the status in "+other, mergePatch(path+"/status"+asTest, status))
			c.same("scale in "+other, read(path+"/scale"))
			c.same("patch of the scale in "+other, mergePatch(path+"/scale"+asTest, map[string]any{"spec": map[string]any{"replicas": 4}}))
			applied := gadget(other, name, "small", map[string]any{"applied": other})
			c.same("apply in "+other, applyPatch(path+"?fieldManager=applier-"+other, applied))
			c.same("forced apply in "+other, applyPatch(path+"?force=true&fieldManager=applier-"+other, applied))
			c.same("apply again in "+other, applyPatch(path+"?force=true&fieldManager=applier-"+other, applied))
			c.same("unknown field in "+other, mergePatch(path+asTest, map[string]any{"spec": map[string]any{"unknown": 1}}))
			c.put(other, path)
			c.tryReads(prefix)
		}
	}
	for _, version := range gadgetVersions {
		temporary := collectionIn(version) + "/" + prefix + "-temporary"
		c.same("apply of a new one in "+version, applyPatch(temporary+"?fieldManager=applier", gadget(version, prefix+"-temporary", "small", map[string]any{"temporary": "yes"})))
		c.same("delete in "+version, apiRequest{method: http.MethodDelete, path: temporary})
		c.same("read what is deleted in "+version, read(temporary))
		c.same("create in "+version, write(http.MethodPost, collectionIn(version)+asTest, gadget(version, prefix+"-temporary", "small", map[string]any{"temporary": "yes"})))
		c.same("delete a collection in "+version, apiRequest{method: http.MethodDelete, path: collectionIn(version) + "?labelSelector=temporary"})
	}
}

// tryPolicies writes gadgets, in all versions, that a policy for v1 decides about: it reads a field, and another one of its own sets a label, in v1.
func (c *conversionComparison) tryPolicies() {
	c.t.Helper()
	matches := map[string]any{"resourceRules": []any{map[string]any{
		"apiGroups": []any{"shop.example.com"}, "apiVersions": []any{"v1"}, "resources": []any{"gadgets"}, "operations": []any{"CREATE", "UPDATE"}}}}
	const group = "/apis/admissionregistration.k8s.io/v1/"
	named := func(spec map[string]any) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "gadgets"}, "spec": spec}
	}
	objects := []struct {
		plural string
		spec   map[string]any
	}{
		{"validatingadmissionpolicies", map[string]any{"matchConstraints": matches, "validations": []any{
			map[string]any{"expression": "object.spec.size != 'huge'", "messageExpression": "'the size is ' + object.spec.size"}}}},
		{"validatingadmissionpolicybindings", map[string]any{"policyName": "gadgets", "validationActions": []any{"Deny"}}},
		{"mutatingadmissionpolicies", map[string]any{"matchConstraints": matches, "reinvocationPolicy": "Never", "mutations": []any{map[string]any{
			"patchType": "ApplyConfiguration", "applyConfiguration": map[string]any{"expression": "Object{spec: Object.spec{count: object.spec.count + 1}}"}}}}},
		{"mutatingadmissionpolicybindings", map[string]any{"policyName": "gadgets"}},
	}
	for _, object := range objects {
		c.same("a policy", write(http.MethodPost, group+object.plural+asTest, named(object.spec)))
	}
	for _, server := range []apiServer{c.kube, c.revtail} {
		gatewaytest.Until(c.t, "policies in force", func() bool {
			return server.do(c.t, write(http.MethodPost, collectionIn("v1")+dryRunOnly, gadget("v1", "canary", "huge", nil))).Code == http.StatusUnprocessableEntity &&
				strings.Contains(fmt.Sprint(server.do(c.t, write(http.MethodPost, collectionIn("v1")+dryRunOnly, gadget("v1", "canary", "small", nil))).Body), "count:4")
		})
	}
	for _, version := range gadgetVersions {
		path := collectionIn(version) + "/judged-" + version
		c.same("refused create in "+version, write(http.MethodPost, collectionIn(version)+asTest, gadget(version, "judged-"+version, "huge", nil)))
		c.same("changed create in "+version, write(http.MethodPost, collectionIn(version)+asTest, gadget(version, "judged-"+version, "small", nil)))
		c.same("patch in "+version, mergePatch(path+asTest, map[string]any{"metadata": map[string]any{"labels": map[string]any{"x": "y"}}}))
		c.same("delete in "+version, apiRequest{method: http.MethodDelete, path: path})
	}
	for _, object := range objects {
		c.same("removal of a policy", apiRequest{method: http.MethodDelete, path: group + object.plural + "/gadgets"})
	}
	for _, server := range []apiServer{c.kube, c.revtail} {
		gatewaytest.Until(c.t, "policies that are gone", func() bool {
			answer := server.do(c.t, write(http.MethodPost, collectionIn("v1")+dryRunOnly, gadget("v1", "canary", "huge", nil)))
			return answer.Code == http.StatusCreated && strings.Contains(fmt.Sprint(answer.Body), "count:3")
		})
	}
}

// put writes back to each server what it has read there, with a change.
func (c *conversionComparison) put(version, path string) {
	c.t.Helper()
	var answers []apiAnswer
	for _, server := range []apiServer{c.kube, c.revtail} {
		body, _ := server.do(c.t, read(path)).Body.(map[string]any)
		if spec, ok := body["spec"].(map[string]any); ok {
			spec["color"] = "in " + version
		}
		answers = append(answers, versionless(server.do(c.t, write(http.MethodPut, path+asTest, body))))
	}
	c.compare("put in "+version, answers[0], answers[1])
}

// tryReads reads gadgets in all versions.
func (c *conversionComparison) tryReads(prefix string) {
	c.t.Helper()
	for _, version := range gadgetVersions {
		in := collectionIn(version)
		c.same("read in "+version, read(in+"/"+prefix+"-v1"))
		c.same("list in "+version, read(in))
		c.same("list everywhere in "+version, read(gadgets+version+"/gadgets"))
		c.same("list by label in "+version, read(in+"?labelSelector=a%3Db"))
		selector := ".spec.size%3Dlarge"
		if version == "v2" {
			selector = ".spec.dimensions.size%3Dlarge"
		}
		c.same("list by field in "+version, read(in+"?fieldSelector="+strings.TrimPrefix(selector, ".")))
		c.same("list by a field of the other version in "+version, read(in+"?fieldSelector=spec.other%3Dlarge"))
		table := read(in)
		table.accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
		c.same("table in "+version, table)
		metadata := read(in)
		metadata.accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
		c.same("metadata in "+version, metadata)
	}
}

// tryWatches follows gadgets in all versions, while one of them is made, changed and removed.
func (c *conversionComparison) tryWatches() {
	c.t.Helper()
	for _, version := range gadgetVersions {
		c.compare("initial events in "+version, c.initialEvents(c.kube, version), c.initialEvents(c.revtail, version))
		c.compare("watch in "+version, c.eventsOfWrites(c.kube, version), c.eventsOfWrites(c.revtail, version))
	}
}

func (c *conversionComparison) initialEvents(server apiServer, version string) apiAnswer {
	c.t.Helper()
	return withoutBookmarks(server.do(c.t, read(collectionIn(version)+"?watch=1&timeoutSeconds=2&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")))
}

// eventsOfWrites writes in all versions, and returns the events of the writes in one.
func (c *conversionComparison) eventsOfWrites(server apiServer, version string) apiAnswer {
	c.t.Helper()
	list, _ := server.do(c.t, read(collectionIn(version)+"?limit=1")).Body.(map[string]any)
	for _, other := range gadgetVersions {
		path := collectionIn(other) + "/watched-" + other
		server.do(c.t, write(http.MethodPost, collectionIn(other)+asTest, gadget(other, "watched-"+other, "small", nil)))
		server.do(c.t, mergePatch(path+asTest, map[string]any{"metadata": map[string]any{"labels": map[string]any{"x": "y"}}}))
		server.do(c.t, apiRequest{method: http.MethodDelete, path: path})
	}
	from, _, _ := unstructured.NestedString(list, "metadata", "resourceVersion")
	return withoutBookmarks(server.do(c.t, read(collectionIn(version)+"?watch=1&timeoutSeconds=3&resourceVersion="+from)))
}

// withoutBookmarks returns the events of a watch, without resourceVersions and bookmarks, which come at times of their own.
func withoutBookmarks(a apiAnswer) apiAnswer {
	a = versionless(a)
	events, _ := a.Body.([]any)
	a.Body = slices.DeleteFunc(events, func(event any) bool { return event.(map[string]any)["type"] == "BOOKMARK" })
	return a
}

// tryBroken reads and writes while the webhook fails, and when it works again.
func (c *conversionComparison) tryBroken(how string) {
	c.t.Helper()
	c.webhook.fail(how)
	defer c.webhook.fail("")
	c.tryReads("first")
	for _, version := range gadgetVersions {
		in := collectionIn(version)
		c.same("create in "+version, write(http.MethodPost, in+asTest, gadget(version, "broken-"+version, "large", nil)))
		path := in + "/first-v1"
		c.same("patch in "+version, mergePatch(path+asTest, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"how": how}}}))
		c.same("apply in "+version, applyPatch(path+"?force=true&fieldManager=applier", gadget(version, "first-v1", "small", map[string]any{"how": "broken"})))
		c.same("delete in "+version, apiRequest{method: http.MethodDelete, path: in + "/absent"})
	}
	c.webhook.fail("")
	for _, version := range gadgetVersions {
		c.same("read of one that works again in "+version, read(collectionIn(version)+"/first-v1"))
		c.same("delete of a broken one in "+version, apiRequest{method: http.MethodDelete, path: collectionIn(version) + "/broken-" + version})
	}
	c.tryReads("first")
}
