package gatewaytest_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// apiAnswer is what is compared of an answer.
type apiAnswer struct {
	Code     int
	Warnings []string
	Body     any // a string, if it is not JSON
}

func readAPIAnswer(response *http.Response) (apiAnswer, error) {
	content, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return apiAnswer{}, err
	}
	answer := apiAnswer{Code: response.StatusCode, Warnings: slices.Sorted(slices.Values(response.Header.Values("Warning")))}
	if err := json.Unmarshal(content, &answer.Body); err != nil {
		answer.Body = string(content)
	}
	return answer, nil
}

func (a apiAnswer) dropManagedFields() {
	body, _ := a.Body.(map[string]any)
	unstructured.RemoveNestedField(body, "metadata", "managedFields")
}

// normalized returns the answer with one value for what differs by nature: uids, the resourceVersion, when a server did something, and
// the addresses of a Service.
func (a apiAnswer) normalized(started time.Time) apiAnswer {
	a.Body = normalized(a.Body, started)
	body, _ := a.Body.(map[string]any)
	if metadata, _ := body["metadata"].(map[string]any); metadata["resourceVersion"] != nil {
		metadata["resourceVersion"] = "version"
	}
	managers, _, _ := unstructured.NestedSlice(body, "metadata", "managedFields") // nil if there are none
	if body["kind"] == "Service" {
		equalAllocated(body)
	}
	if body["kind"] == "CertificateSigningRequest" { // the user is another one here, and kube-apiserver lets no manager own the spec
		unstructured.RemoveNestedField(body, "metadata", "managedFields")
		managers = nil
		for _, field := range []string{"username", "groups", "uid", "extra"} {
			unstructured.RemoveNestedField(body, "spec", field)
		}
	}
	if _, ok, _ := unstructured.NestedMap(body, "spec", "service"); ok && body["kind"] == "APIService" {
		// A kube-apiserver says later whether it reaches the service. revtail says at once that it forwards nothing.
		unstructured.RemoveNestedField(body, "status")
		dropStatusFields(managers)
	}
	if managers != nil {
		// Their order depends on their times.
		slices.SortFunc(managers, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		body["metadata"].(map[string]any)["managedFields"] = managers
	}
	return a
}

// allocated matches the cluster IPs that an API server chooses: they are in the upper part of the range of StartKubeAPIServer, or in the one of the
// ServiceCIDR in testdata/kinds.yaml, from which revtail allocates none.
var allocated = regexp.MustCompile(`^(10\.0\.0\.(0|1[7-9]|[2-9][0-9]|[12][0-9][0-9])|10\.9\.0\.[0-9]+)$`)

// firstChosenPort is the first node port that an API server chooses.
const firstChosenPort = 30086

// chosen reports whether a node port is one that an API server has chosen.
func chosen(nodePort any) bool {
	n, _ := nodePort.(int64)
	return n >= firstChosenPort
}

// equalAllocated sets the cluster IPs and node ports that an API server has chosen to one value.
func equalAllocated(service map[string]any) {
	spec, _ := service["spec"].(map[string]any)
	if ip, _ := spec["clusterIP"].(string); allocated.MatchString(ip) {
		spec["clusterIP"] = "allocated"
	}
	if ips, _ := spec["clusterIPs"].([]any); len(ips) > 0 && allocated.MatchString(ips[0].(string)) {
		ips[0] = "allocated"
	}
	if chosen(spec["healthCheckNodePort"]) {
		spec["healthCheckNodePort"] = "allocated"
	}
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		if p := port.(map[string]any); chosen(p["nodePort"]) {
			p["nodePort"] = "allocated"
		}
	}
}

// dropStatusFields removes the status from the fields of managers.
func dropStatusFields(managers []any) {
	for _, m := range managers {
		unstructured.RemoveNestedField(m.(map[string]any), "fieldsV1", "f:status")
	}
}

var (
	uid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	age = regexp.MustCompile(`^([0-9]+m)?([0-9]+s)?$`)
	// tokenVolume is the name of the volume that a Pod gets for the token of its ServiceAccount.
	tokenVolume = regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`)
)

// normalized returns a copy of a JSON value in which the times since the start of the test are equal, and so are uids and names of token volumes, wherever a text has
// them, and the ages in a table. A list that kube-apiserver writes as null is one without elements, as revtail writes it.
func normalized(value any, started time.Time) any {
	switch v := value.(type) {
	case nil:
		return []any{}
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil && !at.Before(started.Truncate(time.Second)) {
			return "now"
		}
		if v == "admin" || v == "system:anonymous" {
			return "user"
		}
		return tokenVolume.ReplaceAllString(uid.ReplaceAllString(v, "uid"), "kube-api-access")
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = normalized(v[i], started)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key := range v {
			object[key] = normalized(v[key], started)
		}
		if cells, ok := object["cells"].([]any); ok {
			equalAges(cells)
		}
		return object
	}
	return value
}

func equalAges(cells []any) {
	for i, cell := range cells {
		if text, ok := cell.(string); ok && text != "" && age.MatchString(text) {
			cells[i] = "0s"
		}
	}
}
