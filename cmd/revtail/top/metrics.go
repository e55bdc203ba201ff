package top

import (
	"strconv"
	"strings"
)

// metrics are the values of a page of Prometheus, by name and labels as they are written there.
type metrics map[string]map[string]float64

// parseMetrics reads a page. It ignores lines that it cannot read.
func parseMetrics(page string) metrics {
	out := make(metrics)
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			continue
		}
		name, labels, _ := strings.Cut(line[:at], "{")
		if out[name] == nil {
			out[name] = make(map[string]float64)
		}
		out[name][strings.TrimSuffix(labels, "}")] = value
	}
	return out
}

// sum returns the sum of a metric over the labels that contain all of the texts.
func (m metrics) sum(name string, texts ...string) (total float64) {
next:
	for labels, value := range m[name] {
		for _, text := range texts {
			if !strings.Contains(labels, text) {
				continue next
			}
		}
		total += value
	}
	return total
}

// label returns the value of a label.
func label(labels, name string) string {
	_, rest, _ := strings.Cut(labels, name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
