package customresource

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"revtail/gateway/api/kinds"
)

// realworld is the folder in which `make tools` writes manifests of other projects.
const realworld = "../../../bin/tools/definitions"

func parseFile(t *testing.T, file string) *Definition {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	document, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Parse(document)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return d
}

func TestDefinitionsOfOtherProjects(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(realworld, "*", "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Skipf("no definitions of other projects at %s: `make tools` gets them", realworld)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			d := parseFile(t, file)
			if errs := d.Validate(t.Context(), nil); len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			resources, err := d.Resources()
			if err != nil {
				t.Fatal(err)
			}
			if len(resources) == 0 || resources[0].Schema.OpenAPI() == nil {
				t.Errorf("%d versions", len(resources))
			}
			if conflict := Accept([]*Definition{d}, kinds.Builtin())[d.V1.Name]; conflict != (Conflict{}) {
				t.Error(conflict)
			}
		})
	}
}
