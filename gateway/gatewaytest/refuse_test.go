package gatewaytest_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

// refusals are invalid requests. The gateway has only the ConfigMap "there".
var refusals = []struct {
	name         string
	method, path string
	body         string
	code         int
	reason       string
}{
	{"malformed JSON", "POST", configMaps, `{bad json`, 400, "BadRequest"},
	{"JSON that ends early", "POST", configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"na`, 400, "BadRequest"},
	{"two documents", "POST", configMaps, gatewaytest.ConfigMap("a", "") + gatewaytest.ConfigMap("b", ""), 400, "BadRequest"},
	{"empty body", "POST", configMaps, "", 400, "BadRequest"},
	{"array", "POST", configMaps, `[]`, 400, "BadRequest"},
	{"null", "POST", configMaps, `null`, 400, "BadRequest"},
	{"wrong kind", "POST", configMaps, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}`, 400, "BadRequest"},
	{"wrong apiVersion", "POST", configMaps, `{"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"a"}}`, 400, "BadRequest"},
	{"no name", "POST", configMaps, `{"kind":"ConfigMap","apiVersion":"v1"}`, 422, "Invalid"},
	{"bad name", "POST", configMaps, gatewaytest.ConfigMap("Bad_Name", ""), 422, "Invalid"},
	{"name with a slash", "POST", configMaps, gatewaytest.ConfigMap("../secrets/x", ""), 422, "Invalid"},
	{"long name", "POST", configMaps, gatewaytest.ConfigMap(strings.Repeat("a", 254), ""), 422, "Invalid"},
	{"name of another type", "POST", configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":1}}`, 400, "BadRequest"},
	{"metadata of another type", "POST", configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":[]}`, 400, "BadRequest"},
	{"bad label", "POST", configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{"x":"y z"}}}`, 422, "Invalid"},
	{"data of another type", "POST", configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"x":1}}`, 400, "BadRequest"},
	{"other namespace", "POST", configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"other"}}`, 400, "BadRequest"},
	{"resourceVersion on create", "POST", configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"5"}}`, 400, "BadRequest"},
	{"existing name", "POST", configMaps, gatewaytest.ConfigMap("there", "other"), 409, "AlreadyExists"},
	{"unknown dryRun", "POST", configMaps + "?dryRun=Nope", gatewaytest.ConfigMap("a", ""), 422, "Invalid"},
	{"unknown fieldValidation", "POST", configMaps + "?fieldValidation=Bogus", gatewaytest.ConfigMap("a", ""), 422, "Invalid"},
	{"unlimited nesting", "POST", configMaps, strings.Repeat(`{"a":`, 100_000), 400, "BadRequest"},
	{"body above the limit", "POST", configMaps, gatewaytest.ConfigMap("a", strings.Repeat("x", 3<<20)), 413, "RequestEntityTooLarge"},
	{"body far above the limit", "POST", configMaps, gatewaytest.ConfigMap("a", strings.Repeat("x", 20<<20)), 413, "RequestEntityTooLarge"},
	{"object too large for etcd", "POST", "/apis/apps/v1/namespaces/default/controllerrevisions",
		`{"kind":"ControllerRevision","apiVersion":"apps/v1","metadata":{"name":"a"},"revision":1,"data":{"x":"` + strings.Repeat("x", 2<<20) + `"}}`, 413, "RequestEntityTooLarge"},
	{"all namespaces", "POST", "/api/v1/configmaps", gatewaytest.ConfigMap("a", ""), 404, ""},

	{"stale resourceVersion", "PUT", configMaps + "/there", strings.Replace(gatewaytest.ConfigMap("there", "new"), `"name"`, `"resourceVersion":"1","name"`, 1), 409, "Conflict"},
	{"invalid resourceVersion", "PUT", configMaps + "/there", strings.Replace(gatewaytest.ConfigMap("there", "new"), `"name"`, `"resourceVersion":"x","name"`, 1), 400, "BadRequest"},
	{"other name", "PUT", configMaps + "/there", gatewaytest.ConfigMap("other", ""), 400, "BadRequest"},
	{"absent", "PUT", configMaps + "/absent", gatewaytest.ConfigMap("absent", ""), 404, "NotFound"},
	{"other uid", "PUT", configMaps + "/there", strings.Replace(gatewaytest.ConfigMap("there", "new"), `"name"`, `"uid":"1","name"`, 1), 409, "Conflict"},
	{"collection", "PUT", configMaps, gatewaytest.ConfigMap("there", ""), 400, "BadRequest"},
	{"growth beyond the limit of a ConfigMap", "PATCH", configMaps + "/there", `{"data":{"x":"` + strings.Repeat("x", 2<<20) + `"}}`, 422, "Invalid"},
	{"malformed patch", "PATCH", configMaps + "/there", `{`, 400, "BadRequest"},
	{"patch that is not an object", "PATCH", configMaps + "/there", `[1]`, 400, "BadRequest"},
	{"patch of the name", "PATCH", configMaps + "/there", `{"metadata":{"name":"other"}}`, 400, "BadRequest"},
	{"stale patch", "PATCH", configMaps + "/there", `{"metadata":{"resourceVersion":"1"},"data":{"x":"y"}}`, 409, "Conflict"},
	{"patch of an absent object", "PATCH", configMaps + "/absent", `{}`, 404, "NotFound"},
	{"delete of an absent object", "DELETE", configMaps + "/absent", "", 404, "NotFound"},
	{"delete of another uid", "DELETE", configMaps + "/there", `{"preconditions":{"uid":"1"}}`, 409, "Conflict"},
	{"delete with malformed options", "DELETE", configMaps + "/there", `{bad`, 400, "BadRequest"},
	{"delete with another kind", "DELETE", configMaps + "/there", gatewaytest.ConfigMap("there", ""), 400, "BadRequest"},
	{"delete of a collection with a malformed selector", "DELETE", configMaps + "?labelSelector=l%20in", "", 400, "BadRequest"},

	{"get of an absent object", "GET", configMaps + "/absent", "", 404, "NotFound"},
	{"get at an invalid resourceVersion", "GET", configMaps + "/there?resourceVersion=abc", "", 400, "BadRequest"},
	{"list at an invalid resourceVersion", "GET", configMaps + "?resourceVersion=-1", "", 400, "BadRequest"},
	{"watch from an invalid resourceVersion", "GET", configMaps + "?watch=1&resourceVersion=abc", "", 400, "BadRequest"},
	{"watch from one that overflows", "GET", configMaps + "?watch=1&resourceVersion=9223372036854775808", "", 400, "BadRequest"},
	{"limit", "GET", configMaps + "?limit=abc", "", 400, "BadRequest"},
	{"timeoutSeconds", "GET", configMaps + "?watch=1&timeoutSeconds=abc", "", 400, "BadRequest"},
	{"continue", "GET", configMaps + "?continue=garbage", "", 400, "BadRequest"},
	{"label selector", "GET", configMaps + "?labelSelector=l%20in", "", 400, "BadRequest"},
	{"field selector of a watch", "GET", configMaps + "?watch=1&fieldSelector=metadata.name%20in%20(a)", "", 400, "BadRequest"},
	{"match without resourceVersion", "GET", configMaps + "?resourceVersionMatch=Exact", "", 422, "Invalid"},
	{"sendInitialEvents without match", "GET", configMaps + "?watch=1&sendInitialEvents=true", "", 422, "Invalid"},
	{"query that is not escaped", "GET", configMaps + "?limit=%zz", "", 400, "BadRequest"},

	{"unknown resource", "GET", "/api/v1/namespaces/default/gadgets", "", 404, ""},
	{"unknown group", "GET", "/apis/nope/v1", "", 404, ""},
	{"unknown version", "GET", "/api/v9/pods", "", 404, ""},
	{"unknown subresource", "GET", configMaps + "/there/scale", "", 404, "NotFound"},
	{"unknown path", "GET", "/nope", "", 404, ""},
	{"method", "OPTIONS", configMaps, "", 405, "MethodNotAllowed"},
}

// TestRefusals checks that an invalid request gets the right Status, and writes nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("there", ""))
	keys, writes := objectKeys(t, etcd), etcd.Writes(t)
	for _, refusal := range refusals {
		t.Run(refusal.name, func(t *testing.T) {
			answer := gw.Do(t, refusal.method, refusal.path, refusal.body)
			status := answer.Object
			if answer.Code != refusal.code || status.Reason != refusal.reason {
				t.Errorf("%s %s: %d %q, want %d %q\n%.1000s", refusal.method, refusal.path, answer.Code, status.Reason, refusal.code, refusal.reason, answer.Body)
			}
			if refusal.reason != "" && (status.Kind != "Status" || status.APIVersion != "v1" || status.Code != refusal.code || status.Message == "") {
				t.Errorf("%s %s: not a complete Status: %s", refusal.method, refusal.path, answer.Body)
			}
			if len(answer.Body) > 4<<10 {
				t.Errorf("%s %s: an answer of %d bytes", refusal.method, refusal.path, len(answer.Body))
			}
			if now := etcd.Writes(t); now != writes {
				t.Errorf("%s %s wrote something: %d writes, before %d", refusal.method, refusal.path, now, writes)
			}
		})
	}
	if diff := cmp.Diff(keys, objectKeys(t, etcd)); diff != "" {
		t.Errorf("keys in etcd (-before +after):\n%s", diff)
	}
}

// objectKeys returns the keys of an etcd without those of the timeline, which the gateway writes by itself.
func objectKeys(t *testing.T, etcd *gatewaytest.Keys) []string {
	t.Helper()
	return slices.DeleteFunc(etcd.All(t), func(key string) bool { return strings.HasPrefix(key, "revtail/times/") })
}

// TestContentTypes checks that an unreadable media type is refused as such.
func TestContentTypes(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	body := gatewaytest.ConfigMap("a", "")
	for _, test := range []struct {
		header string
		code   int
		line   string
	}{
		{"Content-Type: text/plain", 415, "POST " + configMaps},
		{"Content-Type: application/cbor", 415, "POST " + configMaps},
		{"Content-Type: ;;;", 415, "POST " + configMaps},
		{"Content-Type: application/json\r\nContent-Encoding: gzip", 415, "POST " + configMaps},
		{"Content-Type: application/json", 415, "PATCH " + configMaps + "/a"},
		{"Content-Type: application/json\r\nAccept: text/html", 406, "POST " + configMaps},
		{"Content-Type: application/json", 404, "GET " + configMaps + "/a"}, // the requests above have stored nothing
		{"Content-Type: application/json; charset=utf-8", 201, "POST " + configMaps},
		{"X-No-Content-Type: 1", 409, "POST " + configMaps}, // is read as JSON
	} {
		answer := exchange(t, gw, fmt.Sprintf("%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n\r\n%s",
			test.line, len(body), test.header, body))
		if !strings.HasPrefix(answer, fmt.Sprintf("HTTP/1.1 %d ", test.code)) {
			t.Errorf("%s with %q: want %d\n%s", test.line, test.header, test.code, answer)
		}
	}
}

// TestTraversal checks that no URL leads outside of its prefix in etcd.
func TestTraversal(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	secret := `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"canary"}}`
	etcd.Put(t, "/registry/secrets/default/canary", secret, "/canary", secret, "/registry/configmaps/canary", secret)
	writes := etcd.Writes(t)
	body := gatewaytest.ConfigMap("canary", "")
	for _, path := range []string{
		configMaps + "/../secrets/canary", configMaps + "/%2e%2e/secrets/canary", configMaps + "/..%2fsecrets%2fcanary",
		configMaps + "/%2e%2e%2f%2e%2e%2fsecrets/canary", configMaps + "/%252e%252e%252fsecrets", configMaps + "/..", configMaps + "/.",
		"/api/v1/namespaces/../configmaps/canary", "/api/v1/namespaces/%2e%2e/configmaps/canary", "/api/v1/namespaces/a%2f..%2fb/configmaps/canary",
		"/api/v1/namespaces//configmaps/canary", "/api/v1/namespaces/default//canary", "//api/v1/namespaces/default/configmaps",
		configMaps + "/b%00c", configMaps + "/b%0ac", configMaps + "/%ff", configMaps + "/%c0%ae%c0%ae%c0%afsecrets", configMaps + "/..;/secrets",
		configMaps + `/..\secrets`, configMaps + "/%5c", configMaps + "/%", configMaps + "/%zz", configMaps + "/" + strings.Repeat("a", 4096),
		configMaps + "/\u2024\u2024/secrets", "/api/v1/watch/namespaces/..%2f..%2f/configmaps", "/api/v1/watch/../../secrets",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodPost} {
			answer := exchange(t, gw, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
				method, path, len(body), body))
			resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), nil)
			if err != nil {
				t.Fatalf("%s %.100q: %v: %q", method, path, err, answer)
			}
			if resp.StatusCode < 400 || resp.StatusCode >= 500 || strings.Contains(answer, `"canary","`) {
				t.Errorf("%s %.100q: %s", method, path, answer)
			}
		}
	}
	if now := etcd.Writes(t); now != writes {
		t.Errorf("something was written: %d writes, before %d: keys %v", now, writes, etcd.All(t))
	}
}

// TestLargeBody checks that a client whose body is too large can read the response, and continue on the same connection.
func TestLargeBody(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	large := gatewaytest.ConfigMap("large", strings.Repeat("x", 4<<20))
	request := func(body, more string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", configMaps, len(body), more, body)
	}
	answers := bufio.NewReader(strings.NewReader(exchange(t, gw,
		request(large, "")+request(gatewaytest.ConfigMap("small", ""), "Connection: close\r\n"))))
	for _, want := range []int{http.StatusRequestEntityTooLarge, http.StatusCreated} {
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != want {
			t.Errorf("status %d, want %d", resp.StatusCode, want)
		}
	}
	chunked := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
		configMaps, len(large), large)
	if answer := exchange(t, gw, chunked); !strings.HasPrefix(answer, "HTTP/1.1 413 ") {
		t.Errorf("a chunked body that is too large: %.200s", answer)
	}
}
