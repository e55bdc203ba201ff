package soak

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
	"revtail/gateway/gatewaytest/robustness"
)

// sample has what was measured of all replicas.
type sample struct {
	at       time.Duration // since the beginning
	replicas []reading
	events   int // that clients got since the sample before
}

// reading has the values of metrics.
type reading [5]float64

// measure reads the resources of the gateways, and the times of a history.
func measure(tb testing.TB, at time.Duration, gateways []*gatewaytest.Gateway, h *robustness.History) sample {
	tb.Helper()
	s := sample{at: at}
	deliveries, lists := deliveriesOf(h), listsOf(h)
	for i, g := range gateways {
		s.events += len(deliveries[i])
		s.replicas = append(s.replicas, reading{resident(tb, g), descriptors(tb, g), goroutines(tb, g), p99(deliveries[i]), p99(lists[i])})
	}
	return s
}

// deliveriesOf returns, for each gateway, the times in milliseconds from writes to their events at clients.
func deliveriesOf(h *robustness.History) map[int][]float64 {
	sent := make(map[int64]time.Time)
	for _, w := range h.Writes {
		if w.Outcome == robustness.Acknowledged {
			sent[w.Revision] = w.Sent
		}
	}
	times := make(map[int][]float64)
	for _, w := range h.Watchers {
		for _, step := range w.Steps {
			if step.Stream == nil {
				continue
			}
			for _, line := range step.Stream.Lines {
				if at, ok := sent[line.Object.Revision]; ok && line.IsEvent() {
					times[step.Stream.Gateway] = append(times[step.Stream.Gateway], milliseconds(line.At.Sub(at)))
				}
			}
		}
	}
	return times
}

// listsOf returns, for each gateway, the times of lists in milliseconds.
func listsOf(h *robustness.History) map[int][]float64 {
	times := make(map[int][]float64)
	for _, l := range h.Lists {
		times[l.Gateway] = append(times[l.Gateway], milliseconds(l.Answered.Sub(l.Sent)))
	}
	return times
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// resident returns the resident memory of a gateway, in MiB.
func resident(tb testing.TB, g *gatewaytest.Gateway) float64 {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", g.PID()))
	if err != nil {
		tb.Fatal(err)
	}
	return parse(tb, strings.Fields(string(text))[1]) * float64(os.Getpagesize()) / (1 << 20)
}

func descriptors(tb testing.TB, g *gatewaytest.Gateway) float64 {
	tb.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", g.PID()))
	if err != nil {
		tb.Fatal(err)
	}
	return float64(len(open))
}

func goroutines(tb testing.TB, g *gatewaytest.Gateway) float64 {
	tb.Helper()
	return parse(tb, g.Do(tb, "GET", "/metrics", "").Metric("go_goroutines"))
}

func parse(tb testing.TB, text string) float64 {
	tb.Helper()
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return value
}
