package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestAxis(t *testing.T) {
	values := []float64{3, 0, 700}
	for name, test := range map[string]struct {
		axis axis
		want map[float64]float64
	}{
		"logarithmic": {logarithmic(values, 60, 360), map[float64]float64{1: 60, 10: 160, 100: 260, 1000: 360}}, // zero has no logarithm
		"linear":      {linear(values, 60, 460), map[float64]float64{0: 60, 200: 160, 800: 460}},
	} {
		for value, want := range test.want {
			if got := test.axis.at(value); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: %v is at %v, want %v", name, value, got, want)
			}
		}
	}
}

// TestAxisOfFewValues checks that an axis has a length, whatever the values are.
func TestAxisOfFewValues(t *testing.T) {
	for _, values := range [][]float64{nil, {0}, {10}} {
		for name, a := range map[string]axis{"logarithmic": logarithmic(values, 0, 1), "linear": linear(values, 0, 1)} {
			if got := a.at(a.ticks[len(a.ticks)-1]); got != 1 {
				t.Errorf("the %s axis of %v ends at %v: %v", name, values, got, a.ticks)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		axis axis
		want string
	}{
		{logarithmic([]float64{0.02, 3000}, 0, 1), "0.01 0.1 1 10 100 1,000 10,000"},
		{linear([]float64{20}, 0, 1), "0 5 10 15 20"},
		{linear([]float64{61}, 0, 1), "0 20 40 60 80"},
		{linear([]float64{1.4}, 0, 1), "0 0.5 1 1.5"},
		{linear([]float64{0.45}, 0, 1), "0 0.1 0.2 0.3 0.4 0.5"},
		{linear([]float64{9999}, 0, 1), "0 2,000 4,000 6,000 8,000 10,000"},
	} {
		var labels []string
		for _, tick := range test.axis.ticks {
			labels = append(labels, label(tick))
		}
		if got := strings.Join(labels, " "); got != test.want {
			t.Errorf("ticks %s, want %s", got, test.want)
		}
	}
}

// TestDraw checks that the plot is XML, with a panel for each curve, and a dot for each value that the axes have.
func TestDraw(t *testing.T) {
	line := []Series{{"cpu, µs", [][2]float64{{1, 5}, {10, 0}, {100, 7}, {100, math.NaN()}}}}
	svg := Draw([]Panel{{Title: "a < b", Series: line}, {Title: "other", Series: line, Linear: true}})
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	counts := map[string]int{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if start, ok := token.(xml.StartElement); ok {
			counts[start.Name.Local]++
		}
	}
	if counts["g"] != 2 || counts["circle"] != 2+3 || !strings.Contains(string(svg), "a &lt; b") || strings.Contains(string(svg), "NaN") {
		t.Errorf("%v in\n%s", counts, svg)
	}
}
