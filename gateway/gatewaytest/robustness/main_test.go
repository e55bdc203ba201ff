package robustness

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"revtail/gateway/gatewaytest"
)

// set selects the scenarios: none, because `go test` alone tests only the validators, quick or long.
var set = flag.String("set", "", "scenarios to play: quick or long; -run Scenarios/NAME for one of them")

func TestMain(m *testing.M) { gatewaytest.Main(m) }

// TestScenarios runs the scenarios one after the other, because each needs the machine for itself.
func TestScenarios(t *testing.T) {
	if *set != "quick" && *set != "long" {
		t.Skip("`make robustness` and `make robustness-long` run the scenarios")
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
