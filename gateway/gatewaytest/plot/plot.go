// Package plot draws lines as SVG.
package plot

import (
	"bytes"
	"fmt"
	"html"
)

// Panel is a plot with logarithmic axes, on which proportional growth is a line with a slope of 45 degrees, or with linear ones from zero.
type Panel struct {
	Title  string
	Series []Series
	Linear bool
}

// Series is a line, without the values that are not numbers, and those that have no logarithm if the axes are logarithmic.
type Series struct {
	Name   string
	Points [][2]float64 // x and y
}

const (
	panelWidth, panelHeight = 420, 340
	marginLeft, marginTop   = 60, 30
	marginRight, marginLow  = 20, 100
)

var colours = []string{"#1b6ca8", "#c0392b", "#2e8b57", "#8e6c00"}

// Draw draws the panels side by side, as SVG.
func Draw(panels []Panel) []byte {
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

func (p Panel) draw(b *bytes.Buffer) {
	var xs, ys []float64
	for _, s := range p.Series {
		for _, point := range s.Points {
			xs, ys = append(xs, point[0]), append(ys, point[1])
		}
	}
	newAxis := logarithmic
	if p.Linear {
		newAxis = linear
	}
	x := newAxis(xs, marginLeft, panelWidth-marginRight)
	y := newAxis(ys, panelHeight-marginLow, marginTop)
	fmt.Fprintf(b, `<text x="%d" y="18" font-size="13" font-weight="bold">%s</text>`+"\n", marginLeft, html.EscapeString(p.Title))
	for _, tick := range x.ticks {
		at := x.at(tick)
		fmt.Fprintf(b, `<path d="M%.1f %d V%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			at, marginTop, panelHeight-marginLow, at, panelHeight-marginLow+14, label(tick))
	}
	for _, tick := range y.ticks {
		at := y.at(tick)
		fmt.Fprintf(b, `<path d="M%d %.1f H%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			marginLeft, at, panelWidth-marginRight, marginLeft-4, at+4, label(tick))
	}
	for i, s := range p.Series {
		s.draw(b, x, y, colours[i%len(colours)], panelHeight-marginLow+34+15*i)
	}
}

func (s Series) draw(b *bytes.Buffer, x, y axis, colour string, legend int) {
	command := "M"
	var path bytes.Buffer
	for _, point := range s.Points {
		if x.has(point[0]) && y.has(point[1]) {
			fmt.Fprintf(&path, "%s%.1f %.1f ", command, x.at(point[0]), y.at(point[1]))
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`+"\n", x.at(point[0]), y.at(point[1]), colour)
			command = "L"
		}
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", bytes.TrimSpace(path.Bytes()), colour)
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", marginLeft, legend, colour, html.EscapeString(s.Name))
}
