package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGoal(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		goal        goal
		text        string
		value, peer float64
		holds       bool
	}{
		{goal{most: 1.4, ratioMost: 1.5}, "≤ 1.4, ≤ 1.5 × peer", 1.4, 1, true},
		{goal{most: 1.4, ratioMost: 1.5}, "≤ 1.4, ≤ 1.5 × peer", 1.4, 0.9, false},
		{goal{most: 1.4, ratioMost: 1.5}, "≤ 1.4, ≤ 1.5 × peer", 1.5, 2, false},
		{goal{least: 700_000}, "≥ 700,000", 699_999, nan, false},
		{goal{least: 700_000}, "≥ 700,000", 700_000, nan, true},
		{goal{ratioLeast: 0.6}, "≥ 0.6 × peer", 60, 100, true},
		{goal{ratioLeast: 0.6}, "≥ 0.6 × peer", 59, 100, false},
		{goal{ratioLeast: 0.6}, "≥ 0.6 × peer", 59, nan, false},
		{goal{overMost: 40}, "≤ peer + 40", 50, 10, true},
		{goal{overMost: 40}, "≤ peer + 40", 51, 10, false},
		{goal{most: 1}, "≤ 1", nan, nan, false},
	} {
		if got := test.goal.String(); got != test.text {
			t.Errorf("%+v: %q, want %q", test.goal, got, test.text)
		}
		if got := test.goal.holds(test.value, test.peer); got != test.holds {
			t.Errorf("%s with %v beside %v: %v", test.text, test.value, test.peer, got)
		}
	}
}

func TestNumber(t *testing.T) {
	for value, want := range map[float64]string{0.834: "0.83", 1: "1.00", 12.34: "12.3", 523.4: "523", 10_000: "10,000", 1234567: "1,234,567", -12345: "-12,345", -123456: "-123,456"} {
		if got := number(value); got != want {
			t.Errorf("%v: %s, want %s", value, got, want)
		}
	}
}

var testFigures = []figure{{"speed", "rate", "/s", goal{ratioLeast: 0.8}, "peer"}, {"cost", "cpu", "µs", goal{most: 2}, ""}, {"more", "p99", "ms", goal{}, ""}}

// TestReport checks the medians of the rounds, the ratio of the medians, and the mark of a goal.
func TestReport(t *testing.T) {
	r := &report{Commit: "abc", Samples: map[string]map[string][]sample{}}
	r.add(result{row: row{name: "good", figures: testFigures}, samples: map[string][]sample{
		"revtail": {{"rate": 90, "cpu": 3, "p99": 1}, {"rate": 10, "cpu": 1, "p99": 2}, {"rate": 80, "cpu": 2.5, "p99": 3}},
		"peer":    {{"rate": 100}, {"rate": 1000}, {"rate": 90}},
	}}, "revtail")
	if r.failed() {
		t.Error("a missed goal counts as a failure")
	}
	r.add(result{row: row{name: "bad", figures: testFigures[:1]}, err: errors.New("watcher 3: lost\nmore")}, "revtail")
	if !r.failed() {
		t.Error("a failed check does not count as a failure")
	}
	var out bytes.Buffer
	if err := r.table(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| speed | ≥ 0.8 × peer | 80.0 /s | peer | 100 /s | 0.80 | ✓ |",
		"| cost | ≤ 2 | 2.50 µs | | | | ✗ |",
		"| more | | 2.00 ms | | | | |",
		"| speed | ≥ 0.8 × peer | | peer | | | ✗ watcher 3: lost |",
		"1 of 3 goals met",
	} {
		if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestReportUnmeasured(t *testing.T) {
	r := &report{Samples: map[string]map[string][]sample{}}
	r.add(result{row: row{figures: testFigures}, err: notMeasured("no TLS")}, "revtail")
	if r.failed() || r.Lines[0].mark() != "✗ not measured: no TLS" {
		t.Errorf("failed %v, %q", r.failed(), r.Lines[0].mark())
	}
}

func TestReportIsSaved(t *testing.T) {
	r := &report{Samples: map[string]map[string][]sample{}}
	r.add(result{row: row{name: "good", figures: testFigures}, samples: map[string][]sample{"revtail": {{"rate": 90, "cpu": 3}}}}, "revtail")
	file := filepath.Join(t.TempDir(), "bench.json")
	if err := r.save(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Lines) != 3 || *back.Lines[0].Figure != 90 || back.Lines[0].Other != nil || back.Lines[2].Figure != nil || back.Samples["good"]["revtail"][0]["cpu"] != 3 {
		t.Errorf("%s", text)
	}
}

func TestDiff(t *testing.T) {
	var out bytes.Buffer
	err := writeDiff(&out, []result{
		{row: row{name: "good", figures: testFigures[:1]}, samples: map[string][]sample{"v1": {{"rate": 100}}, "revtail": {{"rate": 150}}}},
		{row: row{name: "bad", figures: testFigures[1:2]}, err: errors.New("lost")},
	}, "v1", "revtail")
	if err == nil || !strings.Contains(err.Error(), "bad: lost") {
		t.Errorf("error %v", err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	if !strings.Contains(got, "| speed | 100 /s | 150 /s | +50 % |") || !strings.Contains(got, "| cost | | | ✗ lost |") {
		t.Errorf("%s", out.String())
	}
}
