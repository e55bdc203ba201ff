package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// realworld is the folder in which `make tools` writes manifests of other projects: <project>/crds, samples and invalid.
const realworld = "../bin/tools/definitions"

// manifest is one document of a file.
type manifest struct {
	file string
	json string
}

// manifests returns the documents of the files of a project, each with its file.
func manifests(t *testing.T, project, kind string) []manifest {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(project, kind, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out []manifest
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents := utilyaml.NewYAMLToJSONDecoder(bytes.NewReader(content))
		for {
			var document json.RawMessage
			if err := documents.Decode(&document); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if len(document) > 0 && string(document) != "null" {
				out = append(out, manifest{filepath.Base(file), string(document)})
			}
		}
	}
	return out
}

// collection returns the URL to which a manifest is posted; false: its kind is not served.
func (s *testServer) collection(m manifest) (string, bool) {
	s.t.Helper()
	object := decodeJSON(s.t, m.json)
	apiVersion, kind := text(s.t, object, "apiVersion"), text(s.t, object, "kind")
	for _, res := range s.server.catalog.Current().Registry.All() {
		if res.APIVersion() != apiVersion || res.Kind != kind {
			continue
		}
		base := "/apis/" + apiVersion
		if res.Group == "" {
			base = "/api/" + apiVersion
		}
		if !res.Namespaced {
			return base + "/" + res.Plural, true
		}
		namespace := "default"
		if given, ok := object.(map[string]any)["metadata"].(map[string]any)["namespace"].(string); ok {
			namespace = given
		}
		return base + "/namespaces/" + namespace + "/" + res.Plural, true
	}
	return "", false
}

// contains returns the paths at which got lacks a part of want. It may have more members, because of defaults.
func contains(want, got any, at string, missing *[]string) {
	switch want := want.(type) {
	case map[string]any:
		members, ok := got.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if member, found := members[name]; ok && found {
				contains(want[name], member, at+"."+name, missing)
			} else {
				*missing = append(*missing, at+"."+name)
			}
		}
	case []any:
		elements, ok := got.([]any)
		if !ok || len(elements) != len(want) {
			*missing = append(*missing, at)
			return
		}
		for i := range want {
			contains(want[i], elements[i], at+"[]", missing)
		}
	default:
		if !cmp.Equal(want, got) {
			*missing = append(*missing, at)
		}
	}
}

// TestManifestsOfOtherProjects stores definitions and objects of widely used projects.
func TestManifestsOfOtherProjects(t *testing.T) {
	projects, err := filepath.Glob(filepath.Join(realworld, "*", "crds"))
	if err != nil || len(projects) == 0 {
		t.Skipf("no manifests of other projects at %s: `make tools` gets them", realworld)
	}
	for _, crdFolder := range projects {
		project := filepath.Dir(crdFolder)
		t.Run(filepath.Base(project), func(t *testing.T) {
			s := newTestServer(t)
			for _, m := range manifests(t, project, "crds") {
				s.must(http.StatusCreated, http.MethodPost, crds, m.json)
			}
			for _, m := range manifests(t, project, "crds") {
				s.established(text(t, decodeJSON(t, m.json), "metadata", "name"))
			}
			for _, m := range manifests(t, project, "samples") {
				s.checkSample(m)
			}
			for _, m := range manifests(t, project, "invalid") {
				s.checkInvalid(m)
			}
			if a := s.get("/openapi/v3"); a.code != http.StatusOK {
				t.Errorf("OpenAPI: %d %s", a.code, a.body)
			}
		})
	}
}

// checkSample stores an object twice, the second time as it was returned, because defaults must not change anything then.
func (s *testServer) checkSample(m manifest) {
	s.t.Helper()
	collection, ok := s.collection(m)
	if !ok {
		s.t.Logf("%s has an object of a kind that is not served", m.file)
		return
	}
	a := s.do(http.MethodPost, collection+"?fieldValidation=Strict", m.json)
	if a.code == http.StatusConflict && text(s.t, decodeJSON(s.t, m.json), "kind") == "Namespace" {
		return // the definition has several samples, and deleting it would delete them all
	}
	if a.code == http.StatusConflict { // several samples have the same name
		name := text(s.t, decodeJSON(s.t, m.json), "metadata", "name")
		s.must(http.StatusOK, http.MethodDelete, collection+"/"+name, "")
		a = s.do(http.MethodPost, collection+"?fieldValidation=Strict", m.json)
	}
	if a.code != http.StatusCreated {
		s.t.Errorf("%s: %d %s", m.file, a.code, a.body)
		return
	}
	stored := a.json(s.t)
	want := decodeJSON(s.t, m.json).(map[string]any)
	delete(want, "status") // is written separately
	delete(want["metadata"].(map[string]any), "creationTimestamp")
	var missing []string
	contains(want, stored, "", &missing)
	if len(missing) > 0 {
		s.t.Errorf("%s: lost or changed: %v", m.file, missing)
	}
	again, err := json.Marshal(stored)
	if err != nil {
		s.t.Fatal(err)
	}
	put := s.must(http.StatusOK, http.MethodPut, collection+"/"+text(s.t, stored, "metadata", "name"), string(again))
	if diff := cmp.Diff(stored, put); diff != "" {
		s.t.Errorf("%s: changes when it is written back (-first +second):\n%s", m.file, diff)
	}
}

func (s *testServer) checkInvalid(m manifest) {
	s.t.Helper()
	collection, ok := s.collection(m)
	if !ok {
		s.t.Errorf("%s is of a kind that is not served", m.file)
		return
	}
	if a := s.do(http.MethodPost, collection, m.json); a.code != http.StatusUnprocessableEntity || !strings.Contains(a.body, `"causes"`) {
		s.t.Errorf("%s: %d %s", m.file, a.code, a.body)
	}
}
