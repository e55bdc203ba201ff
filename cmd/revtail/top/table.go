package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"revtail/cmd/revtail/command"
)

// table is a part of the display, whose rows can be sorted.
type table struct {
	columns []string // a leading > aligns to the right
	rows    [][]cell
}

// cell is a value for people, and the number by which it is sorted; text is sorted by itself.
type cell struct {
	text   string
	number float64
	alarm  bool // the value is a problem
}

func text(s string) cell { return cell{text: command.Printable(s)} }

func count[N int | int64](n N) cell {
	if n == 0 {
		return cell{text: "-"}
	}
	return cell{text: fmt.Sprint(n), number: float64(n)}
}

// alarming is count for something that should be zero.
func alarming[N int | int64](n N) cell {
	c := count(n)
	c.alarm = n > 0
	return c
}

func rate(n float64) cell {
	switch {
	case n == 0:
		return cell{text: "-"}
	case n < 10:
		return cell{text: fmt.Sprintf("%.1f", n), number: n}
	}
	return cell{text: fmt.Sprintf("%.0f", n), number: n}
}

func alarmingRate(n float64) cell {
	c := rate(n)
	c.alarm = n > 0
	return c
}

func percent(processors float64) cell {
	return cell{text: fmt.Sprintf("%.0f%%", 100*processors), number: processors}
}

func seconds(n float64) cell {
	if n == 0 {
		return cell{text: "-"}
	}
	precision := time.Second
	if n < 10 {
		precision = 10 * time.Microsecond
	}
	return cell{text: time.Duration(n * float64(time.Second)).Round(precision).String(), number: n}
}

func lag(n float64) cell {
	c := seconds(n)
	c.alarm = n > 0
	return c
}

func bytes(n float64) cell {
	if n == 0 {
		return cell{text: "-"}
	}
	units, value := []string{"B", "K", "M", "G", "T"}, n
	for value >= 1000 && len(units) > 1 {
		value, units = value/1024, units[1:]
	}
	if value >= 10 || units[0] == "B" {
		return cell{text: fmt.Sprintf("%.0f%s", value, units[0]), number: n}
	}
	return cell{text: fmt.Sprintf("%.1f%s", value, units[0]), number: n}
}

// sort sorts the rows by a column: numbers in descending order, and texts in ascending order.
func (t table) sort(column int) {
	slices.SortStableFunc(t.rows, func(a, b []cell) int {
		x, y := a[column], b[column]
		if strings.HasPrefix(t.columns[column], ">") {
			return cmp.Compare(y.number, x.number)
		}
		return cmp.Compare(x.text, y.text)
	})
}

// maxText is the widest text column, unless the table has room for more.
const maxText = 44

// lines returns the heading and the rows, in lines of width columns. Where they do not fit, columns at the end are left out; a single
// column is cut off. zero: no limit. sorted is the column by which the rows are sorted; negative: none.
func (t table) lines(width, sorted int, style style) []string {
	widths := make([]int, len(t.columns))
	for i, name := range t.columns {
		widths[i] = utf8.RuneCountInString(strings.TrimPrefix(name, ">"))
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	shown := fit(widths, width)
	heading := make([]string, shown)
	for i, name := range t.columns[:shown] {
		heading[i] = pad(name, strings.TrimPrefix(name, ">"), widths[i])
		if i == sorted {
			heading[i] = style.reverse(heading[i])
		} else {
			heading[i] = style.bold(heading[i])
		}
	}
	out := []string{strings.Join(heading, "  ")}
	for _, row := range t.rows {
		cells := make([]string, shown)
		for i, c := range row[:shown] {
			cells[i] = pad(t.columns[i], c.text, widths[i])
			if c.alarm {
				cells[i] = style.red(cells[i])
			}
		}
		out = append(out, strings.TrimRight(strings.Join(cells, "  "), " "))
	}
	return out
}

// fit narrows the widths for a total, and returns how many columns are shown.
func fit(widths []int, width int) (shown int) {
	if width == 0 {
		return len(widths)
	}
	total := -2
	for _, w := range widths {
		total += w + 2
	}
	if total > width { // the texts are at the beginning
		for i := range min(2, len(widths)) {
			if cut := min(total-width, max(widths[i]-maxText/3, 0)); cut > 0 {
				widths[i], total = widths[i]-cut, total-cut
			}
		}
	}
	total = -2
	for i, w := range widths {
		if total += w + 2; total > width {
			if i == 0 {
				widths[0] = width
				return 1
			}
			return i
		}
	}
	return len(widths)
}

// pad cuts or fills a text to a width.
func pad(column, text string, width int) string {
	length := utf8.RuneCountInString(text)
	switch {
	case length > width:
		return cut(text, width)
	case strings.HasPrefix(column, ">"):
		return strings.Repeat(" ", width-length) + text
	}
	return text + strings.Repeat(" ", width-length)
}

// cut returns the first columns of a text.
func cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:max(width-1, 0)]) + "…"
}
