package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// figure is a line of the table: a metric of the product, its goal, and the peer with which it is compared.
type figure struct {
	what   string // the line's title
	metric string
	unit   string
	goal   goal
	peer   string // the contender; empty: none
}

// goal is the goal of a figure. Zero: the limit is not set.
type goal struct {
	most, least           float64 // in the figure's unit
	ratioMost, ratioLeast float64 // times the peer's figure
	overMost              float64 // more than the peer's figure, in its unit
}

// String formats the goal for the table.
func (g goal) String() string {
	var parts []string
	for _, limit := range []struct {
		value  float64
		format string
	}{
		{g.most, "≤ %s"}, {g.least, "≥ %s"}, {g.ratioMost, "≤ %s × peer"}, {g.ratioLeast, "≥ %s × peer"}, {g.overMost, "≤ peer + %s"},
	} {
		if limit.value != 0 {
			parts = append(parts, fmt.Sprintf(limit.format, thousandsOf(limit.value)))
		}
	}
	return strings.Join(parts, ", ")
}

// set reports whether there is a goal.
func (g goal) set() bool { return g != goal{} }

// holds reports whether a figure meets the goal. A goal that needs a peer's figure does not hold without one.
func (g goal) holds(value, peer float64) bool {
	within := func(limit float64, ok bool) bool { return limit == 0 || ok }
	return !math.IsNaN(value) &&
		within(g.most, value <= g.most) && within(g.least, value >= g.least) &&
		within(g.ratioMost, value <= g.ratioMost*peer) && within(g.ratioLeast, value >= g.ratioLeast*peer) &&
		within(g.overMost, value <= peer+g.overMost)
}

// number formats a value with three significant digits.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case a >= 10_000:
		return thousands(math.Round(v))
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// thousandsOf formats a limit with the digits of its constant.
func thousandsOf(v float64) string {
	if v == math.Trunc(v) {
		return thousands(v)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// thousands formats an integer with a comma between groups of three digits.
func thousands(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
