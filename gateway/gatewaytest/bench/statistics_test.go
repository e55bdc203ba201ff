package main

import (
	"math"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{7}, 7},
		{[]float64{3, 1, 2}, 2},
		{[]float64{4, 1, 3, 2}, 2.5},
		{[]float64{1, 1, 100}, 1},
	} {
		if got := median(test.values); got != test.want {
			t.Errorf("median of %v: %v, want %v", test.values, got, test.want)
		}
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing: %v, want NaN", got)
	}
}

func TestMedianLeavesItsArgument(t *testing.T) {
	values := []float64{3, 1, 2}
	median(values)
	if values[0] != 3 || values[1] != 1 {
		t.Errorf("sorted in place: %v", values)
	}
}

func TestPercentile(t *testing.T) {
	var hundred []float64
	for i := 1; i <= 100; i++ {
		hundred = append(hundred, float64(i))
	}
	for _, test := range []struct {
		sorted  []float64
		p, want float64
	}{
		{hundred, 99, 99}, {hundred, 50, 50}, {hundred, 100, 100}, {hundred, 0, 1},
		{[]float64{1, 2, 3}, 99, 3}, {[]float64{1, 2, 3}, 50, 2},
	} {
		if got := percentile(test.sorted, test.p); got != test.want {
			t.Errorf("%v%% of %d values: %v, want %v", test.p, len(test.sorted), got, test.want)
		}
	}
}
