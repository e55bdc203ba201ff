package gatewaytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Object has the fields of an object, a list or a Status that the tests check.
type Object struct {
	Kind       string            `json:"kind"`
	APIVersion string            `json:"apiVersion"`
	Metadata   Metadata          `json:"metadata"`
	Data       map[string]string `json:"data,omitempty"`

	Items []Object `json:"items,omitempty"`

	Code    int    `json:"code,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Metadata is the metadata of an object.
type Metadata struct {
	Name            string            `json:"name,omitempty"`
	Namespace       string            `json:"namespace,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	UID             string            `json:"uid,omitempty"`
	Continue        string            `json:"continue,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
}

// Revision returns the object's resourceVersion as a number.
func (o Object) Revision(tb testing.TB) int64 {
	tb.Helper()
	n, err := strconv.ParseInt(o.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		tb.Fatalf("resourceVersion of %s %q: %v", o.Kind, o.Metadata.Name, err)
	}
	return n
}

// ConfigMap returns the JSON of a ConfigMap with one value, under "value".
func ConfigMap(name, value string) string {
	object := Object{Kind: "ConfigMap", APIVersion: "v1", Metadata: Metadata{Name: name}, Data: map[string]string{"value": value}}
	text, err := json.Marshal(object)
	if err != nil {
		panic(fmt.Sprintf("a ConfigMap: %v", err)) // strings can always be marshalled
	}
	return string(text)
}

// ReadManifest returns the objects of a file of YAML documents.
func ReadManifest(tb testing.TB, path string) (objects []*unstructured.Unstructured) {
	tb.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	for decoder := yaml.NewYAMLToJSONDecoder(bytes.NewReader(content)); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			tb.Fatal(err)
		}
		objects = append(objects, object)
	}
}
