package config

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the reference again")

const referenceFile = "../../deploy/CONFIGURATION.md"

// TestReference compares the reference in deploy with the options.
func TestReference(t *testing.T) {
	want := Reference()
	if *update {
		if err := os.WriteFile(referenceFile, want, 0o644); err != nil { //nolint:gosec // a public document
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s does not match the options: `go test ./gateway/config -run Reference -update` writes it (-want +got):\n%s", referenceFile, diff)
	}
}

// TestReloads checks that the reference names existing options.
func TestReloads(t *testing.T) {
	for name := range reloads {
		if _, known := findOption(func(o option) string { return o.name }, name); !known {
			t.Errorf("%s is not an option", name)
		}
	}
}

// chartSchema has the types of the values of the chart, of which config has the options.
const chartSchema = "../../deploy/helm/revtail/values.schema.json"

// TestSchemaOfTheChart compares the options in the schema of the chart with the options.
func TestSchemaOfTheChart(t *testing.T) {
	text, err := os.ReadFile(chartSchema)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	config := schema["properties"].(map[string]any)["config"].(map[string]any)
	config["additionalProperties"], config["properties"] = false, optionTypes()
	want, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(chartSchema, want, 0o644); err != nil { //nolint:gosec // a public document
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s does not match the options: `go test ./gateway/config -run Schema -update` writes it (-want +got):\n%s", chartSchema, diff)
	}
}

// optionTypes returns the JSON schemas of the options in a file, by their keys.
func optionTypes() map[string]any {
	types := map[string]any{mountsKey: map[string]any{"type": "array", "items": map[string]any{"type": "object"}}}
	for _, o := range new(Config).options() {
		kind := any([]string{"string", "number"}) // a text may look like a number, and a duration may be 0
		switch o.field.(type) {
		case *bool:
			kind = "boolean"
		case *int:
			kind = "integer"
		case *float64:
			kind = "number"
		case *[]string:
			kind = []string{"array", "string"}
		}
		types[o.key()] = map[string]any{"type": kind}
	}
	return types
}
