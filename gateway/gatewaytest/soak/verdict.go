package soak

import (
	"fmt"
	"math"
	"time"
)

// metric is what is measured of a replica.
type metric struct {
	column     string // of the CSV file
	name, unit string
	// growth is the allowed growth an hour, as a part of the level.
	growth float64
}

// metrics are in the order of the values of a reading.
var metrics = []metric{
	{"resident_mib", "memory", "MiB", 0.05},
	{"descriptors", "open descriptors", "", 0.05},
	{"goroutines", "goroutines", "", 0.05},
	{"delivery_p99_ms", "p99 of delivery", "ms", 0.5},
	{"list_p99_ms", "p99 of lists", "ms", 0.5},
}

// leastForGrowth is the time without which slopes an hour mean nothing.
const leastForGrowth = 10 * time.Minute

// finding is the judgement of a series.
type finding struct {
	metric  metric
	replica int
	trend   trend
	verdict string
	bad     bool
}

// judge judges all series, without the warm-up: the first tenth of the time. A series grows if even the lower bound of its slope is more than
// the allowed growth.
func judge(samples []sample) []finding {
	if len(samples) == 0 {
		return nil
	}
	var findings []finding
	whole := samples[len(samples)-1].at
	for replica := range samples[0].replicas {
		for i, m := range metrics {
			var points [][2]float64
			for _, s := range samples {
				if s.at > whole/10 {
					points = append(points, [2]float64{s.at.Hours(), s.replicas[replica][i]})
				}
			}
			f := finding{metric: m, replica: replica}
			f.judge(points, whole)
			findings = append(findings, f)
		}
	}
	return findings
}

func (f *finding) judge(points [][2]float64, whole time.Duration) {
	for _, p := range points {
		if math.IsNaN(p[1]) {
			f.verdict, f.bad = fmt.Sprintf("nothing was measured in minute %.1f", p[0]*60), true
			return
		}
	}
	f.trend = trendOf(points)
	switch most := f.metric.growth * f.trend.level; {
	case whole < leastForGrowth:
		f.verdict = fmt.Sprintf("less than %v says nothing about growth", leastForGrowth)
	case f.trend.low > most:
		f.verdict, f.bad = "GROWS", true
	case f.trend.high < most:
		f.verdict = "steady"
	default:
		f.verdict = "no growth beyond the noise"
	}
}

// percent formats a slope as a part of the level.
func (t trend) percent(slope float64) string { return fmt.Sprintf("%+.1f", 100*slope/t.level) }

func (f finding) String() string {
	return fmt.Sprintf("replica %d\t%s\t%.1f %s\t%s %% an hour (%s to %s, %.0f allowed)\t%s", f.replica, f.metric.name, f.trend.level, f.metric.unit,
		f.trend.percent(f.trend.slope), f.trend.percent(f.trend.low), f.trend.percent(f.trend.high), 100*f.metric.growth, f.verdict)
}
