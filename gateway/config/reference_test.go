package config

import (
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
