package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"revtail/gateway/gatewaytest/plot"
)

// curve describes how the product's figures grow with a parameter.
type curve struct {
	name    string // for -row
	along   string // name of the parameter
	steps   []int
	metrics []metric
	measure func(ctx context.Context, step int) (sample, error)
}

// metric is a column of the table, and a line of the plot.
type metric struct{ key, name, unit string }

var fanOutMetrics = []metric{{"cpu", "CPU a delivery", "µs"}, {"event", "CPU an event", "ms"}, {"p99", "p99", "ms"}, {"rate", "deliveries", "/s"}}

func (s *stage) curves() []curve {
	return []curve{
		{"watchers-plain", "watchers, 5 events/s", []int{1, 10, 100, 1000, 10_000}, fanOutMetrics, func(ctx context.Context, watchers int) (sample, error) {
			return s.growFanOut(ctx, plain, watchers, 5)
		}},
		{"watchers-http2", "watchers over HTTP/2, 5 events/s", []int{1, 10, 100, 1000, 10_000, 50_000}, fanOutMetrics, func(ctx context.Context, watchers int) (sample, error) {
			return s.growFanOut(ctx, http2, watchers, 5)
		}},
		{"events", "events/s, 1,000 watchers", []int{1, 10, 100, 500, 1000, 2000}, fanOutMetrics, func(ctx context.Context, rate int) (sample, error) {
			return s.growFanOut(ctx, plain, s.size.watchers, rate)
		}},
		{"objects", "objects", []int{1000, 20_000, 100_000, 1_000_000}, stateMetrics, s.growState},
	}
}

// runGrowth measures the curves, prints them as tables and plots them.
func runGrowth(ctx context.Context, s *stage, o options, stdout io.Writer) error {
	var panels []plot.Panel
	for _, c := range named(s.curves(), o.rows, func(c curve) string { return c.name }) {
		var samples []sample
		for _, step := range c.steps {
			got, err := c.measure(ctx, step)
			if err != nil {
				return fmt.Errorf("%s %d: %w", c.along, step, err)
			}
			s.say("%s %s: %s", thousands(float64(step)), c.along, got)
			samples = append(samples, got)
		}
		if err := c.table(stdout, samples); err != nil {
			return err
		}
		panels = append(panels, c.panel(samples))
	}
	return os.WriteFile(o.svg, plot.Draw(panels), 0o644) //nolint:gosec // a public file
}

// growFanOut measures a fan-out at a fixed rate, with a gateway of its own.
func (s *stage) growFanOut(ctx context.Context, t transport, watchers, rate int) (sample, error) {
	const seconds = 4
	o := new(opening)
	defer func() { closeAll(o.closers) }()
	sized := *s
	sized.size.watchers = watchers
	f, err := sized.openProductFanOut(ctx, o, s.products[0].binary, t, jsonLines)
	if err != nil {
		return nil, err
	}
	got, err := f.run(ctx, load{events: max(rate*seconds, 10), rate: float64(rate)})
	if err != nil {
		return nil, err
	}
	got["event"] = got["cpu"] * float64(watchers) / 1000
	return got, nil
}

func (c curve) table(w io.Writer, samples []sample) error {
	out := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	_, _ = fmt.Fprintf(out, "| %s\t|", c.along) // Flush has the error
	for _, m := range c.metrics {
		_, _ = fmt.Fprintf(out, " %s, %s\t|", m.name, m.unit)
	}
	for i, step := range c.steps {
		_, _ = fmt.Fprintf(out, "\n| %s\t|", thousands(float64(step)))
		for _, m := range c.metrics {
			_, _ = fmt.Fprintf(out, " %s\t|", number(samples[i][m.key]))
		}
	}
	_, _ = fmt.Fprintln(out)
	return out.Flush()
}

func (c curve) panel(samples []sample) plot.Panel {
	p := plot.Panel{Title: c.along}
	for _, m := range c.metrics {
		line := plot.Series{Name: m.name + ", " + m.unit}
		for i, step := range c.steps {
			line.Points = append(line.Points, [2]float64{float64(step), samples[i][m.key]})
		}
		p.Series = append(p.Series, line)
	}
	return p
}
