package main

import (
	"context"
	"fmt"
	"strings"

	"revtail/gateway/gatewaytest/plot"
)

// versusCurve shows how a cost grows with a parameter, for each contender.
type versusCurve struct {
	name    string // of the file, and for -row
	caption string // of the plot: what grows with what
	cost    aspect
	steps   []int
	row     func(step int) versus
}

func versusCurves(s size) []versusCurve {
	const seconds, rate = 4, 10
	cost := aspect{what: "CPU a delivery", metric: "cpu", unit: "µs"}
	list := aspect{what: "CPU a list", metric: listForms[0].metric(1, "each"), unit: "ms"}
	return []versusCurve{
		{"kubernetes-watchers", fmt.Sprintf("CPU a delivery, µs, by watchers: %d events/s, HTTP/2", rate), cost, stepsTo(s.watchers), func(watchers int) versus {
			return versusFanOut(fmt.Sprintf("watchers-%d", watchers), "", http2, watchers, load{events: seconds * rate, rate: rate}, []aspect{cost})
		}},
		{"kubernetes-objects", "CPU a list, ms, by objects: JSON, one client, TLS", list, stepsTo(s.objects[1])[2:], func(objects int) versus {
			return versusList(fmt.Sprintf("objects-%d", objects), "", objects, listForms[:1], []aspect{list})
		}},
	}
}

// stepsTo returns the powers of ten up to a number, which is the last one.
func stepsTo(last int) []int {
	var steps []int
	for step := 1; step < last; step *= 10 {
		steps = append(steps, step)
	}
	return append(steps, last)
}

// grown is a curve with its results, by step.
type grown struct {
	versusCurve
	results []comparison
}

// growVersus measures a curve.
func (s *stage) growVersus(ctx context.Context, c versusCurve, r *report) (grown, error) {
	g := grown{versusCurve: c}
	for _, step := range c.steps {
		v := c.row(step)
		res := s.measure(ctx, v.row)
		if res.err != nil {
			return g, fmt.Errorf("%s: %w", v.name, res.err)
		}
		r.Samples[v.name] = res.samples
		g.results = append(g.results, v.compare(res)...)
	}
	return g, nil
}

// panel is the plot, with a line for each contender.
func (g grown) panel() plot.Panel {
	lines := []plot.Series{{Name: revtail}, {Name: kubeAPIServer}, {Name: null}}
	for i, c := range g.results {
		for l, s := range []spread{c.own, c.kubernetes, c.null} {
			lines[l].Points = append(lines[l].Points, [2]float64{float64(g.steps[i]), s.median})
		}
	}
	return plot.Panel{Title: g.caption, Series: lines}
}

// table has the values of the plot.
func (g grown) table() string {
	var b strings.Builder
	head, rule := "| |", "|---|"
	for _, step := range g.steps {
		head += " " + thousands(float64(step)) + " |"
		rule += "--:|"
	}
	fmt.Fprintf(&b, "%s\n%s\n", head, rule)
	for _, line := range g.panel().Series {
		fmt.Fprintf(&b, "| %s |", line.Name)
		for _, point := range line.Points {
			fmt.Fprintf(&b, " %s |", number(point[1]))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
