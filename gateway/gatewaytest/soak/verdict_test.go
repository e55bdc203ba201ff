package soak

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// series returns a sample a minute of two replicas. All values are 100, but for those of the first metric of replica 1.
func series(minutes int, value func(minute int) float64) []sample {
	var samples []sample
	for minute := range minutes {
		s := sample{at: time.Duration(minute+1) * time.Minute, replicas: []reading{{100, 100, 100, 100, 100}, {100, 100, 100, 100, 100}}}
		s.replicas[1][0] = value(minute)
		samples = append(samples, s)
	}
	return samples
}

// TestJudge checks the judgement of a series, and that the others are steady beside it.
func TestJudge(t *testing.T) {
	noise := func(m int) float64 {
		return 5 * rand.New(rand.NewPCG(uint64(m), 2)).NormFloat64() //nolint:gosec // a repeatable noise
	}
	for name, test := range map[string]struct {
		minutes int
		value   func(minute int) float64
		want    string // begins the verdict
		bad     bool
	}{
		"constant":               {60, func(int) float64 { return 100 }, "steady", false},
		"noise":                  {60, func(m int) float64 { return 100 + noise(m) }, "no growth beyond the noise", false},
		"noise of a day":         {24 * 60, func(m int) float64 { return 100 + noise(m) }, "steady", false},
		"slow leak":              {60, func(m int) float64 { return 100 + float64(m)/60*6 }, "GROWS", true},
		"slow leak in noise":     {60, func(m int) float64 { return 100 + float64(m)/60*20 + noise(m) }, "GROWS", true},
		"leak by leaps":          {60, func(m int) float64 { return 100 + 2*math.Floor(float64(m)/6) }, "GROWS", true},
		"allowed growth":         {60, func(m int) float64 { return 100 + float64(m)/60*4 }, "steady", false},
		"decline":                {60, func(m int) float64 { return 100 - float64(m) }, "steady", false},
		"step in the warm-up":    {60, func(m int) float64 { return 100 - 60*max(0, min(1, 5-float64(m))) }, "steady", false},
		"outliers":               {60, func(m int) float64 { return 100 + 900*float64(m/55) }, "steady", false},
		"leak in a few minutes":  {5, func(m int) float64 { return 100 + 10*float64(m) }, "less than", false},
		"a minute without value": {60, func(m int) float64 { return math.Sqrt(float64(30 - m)) }, "nothing was measured in minute 32.0", true},
	} {
		for _, f := range judge(series(test.minutes, test.value)) {
			want, bad := "steady", false
			if f.replica == 1 && f.metric == metrics[0] {
				want, bad = test.want, test.bad
			} else if test.minutes < 10 {
				want = "less than"
			}
			if !strings.HasPrefix(f.verdict, want) || f.bad != bad {
				t.Errorf("%s: %v, bad: %v, want %q", name, f, f.bad, want)
			}
		}
	}
}

// TestTrend checks estimates of series whose slopes are known.
func TestTrend(t *testing.T) {
	line := func(n int, value func(x float64) float64) (points [][2]float64) {
		for i := range n {
			points = append(points, [2]float64{float64(i), value(float64(i))})
		}
		return points
	}
	exact := trendOf(line(21, func(x float64) float64 { return 3 + 2*x }))
	if exact != (trend{level: 23, slope: 2, low: 2, high: 2}) {
		t.Errorf("a line: %+v", exact)
	}
	spoiled := line(21, func(x float64) float64 { return 3 + 2*x })
	spoiled[3][1], spoiled[20][1] = 1000, -1000
	if got := trendOf(spoiled); got != exact {
		t.Errorf("a line with two outliers: %+v, want %+v", got, exact)
	}
	if got := trendOf(line(1, func(float64) float64 { return 7 })); got.level != 7 || !math.IsNaN(got.slope) {
		t.Errorf("one point: %+v", got)
	}
	few := trendOf([][2]float64{{0, 0}, {1, 1}, {2, 5}})
	if few.low != 1 || few.high != 4 {
		t.Errorf("three points: %+v, want the least and the greatest slope as bounds", few)
	}
}

func TestPercentile(t *testing.T) {
	values := make([]float64, 200)
	for i := range values {
		values[i] = float64(200 - i)
	}
	if got := p99(values); got != 198 {
		t.Errorf("p99 of 1 to 200: %v", got)
	}
	if got := p99(nil); !math.IsNaN(got) {
		t.Errorf("p99 of nothing: %v", got)
	}
}
