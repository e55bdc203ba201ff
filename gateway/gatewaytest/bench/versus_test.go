package main

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// versusResult returns the comparisons of one row with a lower and a greater metric.
func versusResult(reason string, own, kubernetes, least sample) []comparison {
	v := versus{title: "Work", aspects: []aspect{
		{what: "CPU", metric: "cpu", unit: "µs", besideNull: reason}, {what: "speed", metric: "rate", unit: "/s", more: true, besideNull: reason},
	}}
	return v.compare(result{samples: map[string][]sample{revtail: {own}, kubeAPIServer: {kubernetes}, null: {least}}})
}

func TestVersusLimits(t *testing.T) {
	for _, test := range []struct {
		what                   string
		own, kubernetes, least sample
		misses                 []bool
	}{
		{"within", sample{"cpu": 1, "rate": 100}, sample{"cpu": 2, "rate": 50}, sample{"cpu": 0.7, "rate": 150}, []bool{false, false}},
		{"over half of kube-apiserver", sample{"cpu": 1.1, "rate": 99}, sample{"cpu": 2, "rate": 50}, sample{"cpu": 1, "rate": 1}, []bool{true, true}},
		{"over 1.5 times null", sample{"cpu": 1, "rate": 100}, sample{"cpu": 9, "rate": 1}, sample{"cpu": 0.6, "rate": 151}, []bool{true, true}},
		{"without null", sample{"cpu": 1, "rate": 100}, sample{"cpu": 2, "rate": 50}, nil, []bool{false, false}},
	} {
		var got []bool
		for _, c := range versusResult("", test.own, test.kubernetes, test.least) {
			got = append(got, len(c.misses()) > 0)
		}
		if !slices.Equal(got, test.misses) {
			t.Errorf("%s: misses %v, want %v", test.what, got, test.misses)
		}
	}
}

func TestSpread(t *testing.T) {
	r := result{samples: map[string][]sample{"a": {{"n": 3}, {"n": 1}, {"n": 2.5}}, "b": {{"n": 7}}}}
	for contender, want := range map[string]string{"a": "2.50 (1.00–3.00)", "b": "7.00", "c": "–"} {
		if got := r.spread(contender, "n").String(); got != want {
			t.Errorf("%s: %s, want %s", contender, got, want)
		}
	}
}

// TestVersusDocument checks the lines of the table, and that a missed limit has its reason, or is an error.
func TestVersusDocument(t *testing.T) {
	lower, higher := sample{"cpu": 1, "rate": 100}, sample{"cpu": 4, "rate": 10}
	d := &document{report: &report{Machine: "a machine", Rounds: 3}, versions: "revtail abc, kube-apiserver v1"}
	d.rows = versusResult("Because.", lower, higher, sample{"cpu": 0.5})
	d.replica = (versus{title: "Replica", aspects: []aspect{{what: "CPU", metric: "cpu", unit: "µs", besideKubernetes: "Half."}}}).compare(
		result{samples: map[string][]sample{revtail: {{"cpu": 3}}, kubeAPIServer: {{"cpu": 4}}}})
	g := grown{versusCurve: versusCurve{name: "plot", caption: "CPU by size", steps: []int{1, 1000}}}
	g.results = append(versusResult("", lower, higher, nil)[:1], versusResult("", higher, lower, nil)[0])
	d.curves = []grown{g}
	text := string(d.markdown())
	for _, want := range []string{
		"- revtail abc, kube-apiserver v1. ", "- Medians of 3 rounds, ",
		"| **Work**: CPU, µs | 1.00 | 4.00 | 0.50 | 0.25 | 2.00 ✗ |", "| … speed, /s | 100 | 10.0 | – | 0.10 | – |",
		"## The replica of a cluster", "| **Replica**: CPU, µs | 3.00 | 4.00 | 0.75 ✗ |", "- Replica: CPU, 0.75 × kube-apiserver. Half.",
		"- Work: CPU, 2.00 × null. Because.", "![CPU by size](plot.svg)", "| kube-apiserver | 4.00 | 1.00 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if errs := d.unexplained(); len(errs) > 0 {
		t.Errorf("a missed limit with a reason: %v", errs)
	}
	d.rows = versusResult("", lower, higher, sample{"cpu": 0.5})
	if errs := d.unexplained(); len(errs) != 1 || !strings.Contains(errs[0].Error(), "Work: CPU") {
		t.Errorf("a missed limit without a reason: %v", errs)
	}
}

func TestVersusRowsHaveTheirOwnNames(t *testing.T) {
	names := map[string]bool{}
	for _, v := range slices.Concat(versusRows(kubernetesSize(false)), replicaRows(kubernetesSize(false))) {
		if names[v.name] {
			t.Errorf("two rows are named %s", v.name)
		}
		names[v.name] = true
	}
	if got := stepsTo(500); !slices.Equal(got, []int{1, 10, 100, 500}) {
		t.Errorf("steps to 500: %v", got)
	}
}

// TestReplicaRowsAreSelected checks that -row replica selects the rows about a replica and no others.
func TestReplicaRowsAreSelected(t *testing.T) {
	name := func(v versus) string { return v.name }
	s := kubernetesSize(true)
	if got, want := len(named(replicaRows(s), "replica", name)), len(replicaRows(s)); got != want || want == 0 {
		t.Errorf("replica selects %d of %d rows", got, want)
	}
	if others := named(versusRows(s), "replica", name); len(others) > 0 {
		t.Errorf("replica selects %s", others[0].name)
	}
}

func TestAspectRatio(t *testing.T) {
	if got := (aspect{more: true}).ratio(math.NaN(), 1); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
}
