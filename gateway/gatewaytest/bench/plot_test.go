package main

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
	a := newAxis([]float64{3, 0, 700}, 60, 360) // 1 to 1,000; zero has no logarithm
	for value, want := range map[float64]float64{1: 60, 10: 160, 100: 260, 1000: 360} {
		if got := a.at(value); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v is at %v, want %v", value, got, want)
		}
	}
	if one := newAxis([]float64{10}, 0, 1); one.high <= one.low {
		t.Errorf("an axis of one value: %+v", one)
	}
}

// TestPlot checks that the plot is XML, with a panel for each curve, and a dot for each positive value.
func TestPlot(t *testing.T) {
	svg := plot([]panel{
		{"a < b", []series{{"cpu, µs", [][2]float64{{1, 5}, {10, 0}, {100, 7}}}}},
		{"other", []series{{"p99, ms", [][2]float64{{1, 5}}}}},
	})
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
	if counts["g"] != 2 || counts["circle"] != 3 || !strings.Contains(string(svg), "a &lt; b") {
		t.Errorf("%v in\n%s", counts, svg)
	}
}
