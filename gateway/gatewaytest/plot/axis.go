package plot

import (
	"math"

	"github.com/dustin/go-humanize"
)

// axis maps values to a length.
type axis struct {
	scale    func(float64) float64
	ticks    []float64 // from the lowest value to the highest one
	from, to float64
}

// logarithmic covers all positive values, up to full decades.
func logarithmic(values []float64, from, to float64) axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 {
			low, high = min(low, math.Floor(math.Log10(v))), max(high, math.Ceil(math.Log10(v)))
		}
	}
	if math.IsInf(low, 1) {
		low, high = 0, 1
	}
	a := axis{scale: math.Log10, from: from, to: to}
	for decade := low; decade <= max(high, low+1); decade++ {
		a.ticks = append(a.ticks, math.Pow(10, decade))
	}
	return a
}

// linear covers zero and all positive values, in at most five steps of 1, 2 or 5 times a power of ten.
func linear(values []float64, from, to float64) axis {
	var high float64
	for _, v := range values {
		if !math.IsNaN(v) {
			high = max(high, v)
		}
	}
	if high == 0 {
		high = 1
	}
	const steps = 5
	step := math.Pow(10, math.Floor(math.Log10(high/steps)))
	for _, factor := range []float64{2, 2.5, 2} { // times 2, 5 and 10
		if step*steps < high {
			step *= factor
		}
	}
	a := axis{scale: func(v float64) float64 { return v }, from: from, to: to}
	for i := 0.0; i <= math.Ceil(high/step); i++ {
		a.ticks = append(a.ticks, i*step)
	}
	return a
}

// has reports whether a value has a place on the axis.
func (a axis) has(v float64) bool { return !math.IsNaN(a.scale(v)) && !math.IsInf(a.scale(v), 0) }

func (a axis) at(v float64) float64 {
	low, high := a.scale(a.ticks[0]), a.scale(a.ticks[len(a.ticks)-1])
	return a.from + (a.scale(v)-low)/(high-low)*(a.to-a.from)
}

// label formats a tick, without the error of its multiplication.
func label(tick float64) string { return humanize.Commaf(math.Round(tick*1e9) / 1e9) }
