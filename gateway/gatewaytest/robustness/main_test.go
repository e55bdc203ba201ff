package robustness

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"revtail/gateway/gatewaytest"
)

// set says which scenarios to play: none, since `go test` alone proves the validators only, quick or long.
var set = flag.String("set", "", "scenarios to play: quick or long; -run Scenarios/NAME for one of them")

func TestMain(m *testing.M) { gatewaytest.Main(m) }

// TestScenarios plays them, one after the other: each needs the machine for itself.
func TestScenarios(t *testing.T) {
	if *set != "quick" && *set != "long" {
		t.Skip("`make robustness` and `make robustness-long` play the scenarios")
	}
	var results []Result
	for i := range scenarios {
		s := &scenarios[i]
		if *set == "quick" && !s.Quick {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			result := Perform(t, s, *set == "long")
			results = append(results, result)
			for i, v := range result.Violations {
				if i == 20 {
					t.Errorf("and %d more", len(result.Violations)-i)
					break
				}
				t.Error(v)
			}
			if result.Folder != "" {
				t.Errorf("the history is in %s", result.Folder)
			}
		})
	}
	if err := WriteTable(os.Stdout, results); err != nil {
		t.Error(err)
	}
	for _, r := range results {
		for _, note := range r.Notes {
			_, _ = fmt.Fprintf(os.Stdout, "%s: %s\n", r.Name, note)
		}
		if r.Folder != "" {
			_, _ = fmt.Fprintf(os.Stdout, "%s: its history is in %s\n", r.Name, r.Folder)
		}
	}
}
