package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
)

// panel is a plot with logarithmic axes: proportional growth is a line with a slope of 45 degrees.
type panel struct {
	title  string
	series []series
}

type series struct {
	name   string
	points [][2]float64
}

const (
	panelWidth, panelHeight = 420, 340
	marginLeft, marginTop   = 60, 30
	marginRight, marginLow  = 20, 100
)

var colours = []string{"#1b6ca8", "#c0392b", "#2e8b57", "#8e6c00"}

// axis maps values to a length, by their logarithms.
type axis struct{ low, high, from, to float64 }

// newAxis covers all positive values, up to full decades.
func newAxis(values []float64, from, to float64) axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 {
			low, high = min(low, math.Floor(math.Log10(v))), max(high, math.Ceil(math.Log10(v)))
		}
	}
	if math.IsInf(low, 1) {
		low, high = 0, 1
	}
	return axis{low, max(high, low+1), from, to}
}

func (a axis) at(v float64) float64 {
	return a.from + (math.Log10(v)-a.low)/(a.high-a.low)*(a.to-a.from)
}

// plot draws the panels side by side, as SVG.
func plot(panels []panel) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n",
		panelWidth*len(panels), panelHeight)
	fmt.Fprintln(&b, `<rect width="100%" height="100%" fill="white"/>`)
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%d,0)">`+"\n", i*panelWidth)
		p.draw(&b)
		fmt.Fprintln(&b, `</g>`)
	}
	fmt.Fprintln(&b, `</svg>`)
	return b.Bytes()
}

func (p panel) draw(b *bytes.Buffer) {
	var xs, ys []float64
	for _, s := range p.series {
		for _, point := range s.points {
			xs, ys = append(xs, point[0]), append(ys, point[1])
		}
	}
	x := newAxis(xs, marginLeft, panelWidth-marginRight)
	y := newAxis(ys, panelHeight-marginLow, marginTop)
	fmt.Fprintf(b, `<text x="%d" y="18" font-size="13" font-weight="bold">%s</text>`+"\n", marginLeft, html.EscapeString(p.title))
	for d := x.low; d <= x.high; d++ {
		at := x.at(math.Pow(10, d))
		fmt.Fprintf(b, `<path d="M%.1f %d V%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			at, marginTop, panelHeight-marginLow, at, panelHeight-marginLow+14, decade(d))
	}
	for d := y.low; d <= y.high; d++ {
		at := y.at(math.Pow(10, d))
		fmt.Fprintf(b, `<path d="M%d %.1f H%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			marginLeft, at, panelWidth-marginRight, marginLeft-4, at+4, decade(d))
	}
	for i, s := range p.series {
		s.draw(b, x, y, colours[i%len(colours)], panelHeight-marginLow+34+15*i)
	}
}

func (s series) draw(b *bytes.Buffer, x, y axis, colour string, legend int) {
	command := "M"
	var path bytes.Buffer
	for _, point := range s.points {
		if point[1] > 0 { // other values have no logarithm
			fmt.Fprintf(&path, "%s%.1f %.1f ", command, x.at(point[0]), y.at(point[1]))
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`+"\n", x.at(point[0]), y.at(point[1]), colour)
			command = "L"
		}
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", bytes.TrimSpace(path.Bytes()), colour)
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", marginLeft, legend, colour, html.EscapeString(s.name))
}

// decade formats a power of ten for an axis.
func decade(d float64) string {
	if d < 0 {
		return fmt.Sprintf("%.*f", int(-d), math.Pow(10, d))
	}
	return thousands(math.Pow(10, d))
}
