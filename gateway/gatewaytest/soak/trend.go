package soak

import (
	"math"
	"slices"
)

// trend is how a series changes with time.
type trend struct {
	level     float64 // the median of the values
	slope     float64 // the Theil–Sen estimate: the median of the slopes between all pairs of points
	low, high float64 // the bounds of the slope, with a confidence of 99 %
}

// confident is the quantile of the normal distribution for a confidence of 99 % on both sides.
const confident = 2.576

// trendOf estimates the trend of points, by time. The bounds are those of Sen: slopes in the middle of all, as many as Kendall's statistic of a
// series without a trend allows.
func trendOf(points [][2]float64) trend {
	values := make([]float64, 0, len(points))
	slopes := make([]float64, 0, len(points)*(len(points)-1)/2)
	for i, p := range points {
		values = append(values, p[1])
		for _, q := range points[:i] {
			slopes = append(slopes, (p[1]-q[1])/(p[0]-q[0]))
		}
	}
	if len(slopes) == 0 {
		return trend{median(values), math.NaN(), math.NaN(), math.NaN()}
	}
	slices.Sort(slopes)
	n, all := float64(len(points)), float64(len(slopes))
	spread := confident * math.Sqrt(n*(n-1)*(2*n+5)/18)
	low := max(0, int(math.Floor((all-spread)/2))-1)
	return trend{median(values), median(slopes), slopes[low], slopes[len(slopes)-1-low]}
}

// median returns the middle of the values, or the mean of the two in the middle; NaN: there are none.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// p99 returns the smallest of the values that 99 per cent of them do not exceed; NaN: there are none.
func p99(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(int(math.Ceil(0.99*float64(len(sorted)))), 1)-1]
}
