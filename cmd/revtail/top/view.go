package top

import (
	"fmt"
	"strings"
	"time"

	"revtail/cmd/revtail/command"
)

// style marks text on a terminal.
type style bool

func (s style) mark(code, text string) string {
	if !s {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string    { return s.mark("1", text) }
func (s style) reverse(text string) string { return s.mark("7", text) }
func (s style) red(text string) string     { return s.mark("31", text) }
func (s style) plain(text string) string   { return text }

// selected marks the name of the view, also without colours.
func (s style) selected(text string) string {
	if !s {
		return "[" + text + "]"
	}
	return s.reverse(text)
}

// address is a URL without the scheme, which all have.
func address(url string) cell {
	_, host, ok := strings.Cut(url, "://")
	if !ok || strings.HasPrefix(url, "unix") {
		host = url
	}
	return text(host)
}

// gatewayTable has the most important columns first, because a narrow terminal shows only those.
func (r report) gatewayTable() table {
	t := table{columns: []string{"GATEWAY", "STATE", ">WATCHES", ">LATE", ">EVENTS/S", ">REFUSED/S", ">REQUESTS", ">CPU", ">MEMORY", ">SLOWEST", ">SENT/S", ">WRITES", ">WAITING", ">BEHIND"}}
	for _, g := range r.Gateways {
		state := text(g.State)
		state.alarm = g.State != "ready"
		t.rows = append(t.rows, []cell{address(g.Server), state, count(g.Watches), alarming(g.Late), rate(g.Events), alarmingRate(g.Refused), count(g.InFlight),
			percent(g.Processor), bytes(float64(g.MemoryBytes)), lag(g.SlowestLag), bytes(g.Bytes), count(g.Writes), count(g.Waiting), count(g.CachesLate)})
	}
	return t
}

func (r report) etcdTable() table {
	t := table{columns: []string{"ETCD", "STATE", ">DATABASE", ">IN USE", ">QUOTA", ">USED"}}
	for _, m := range r.Etcd.Members {
		state := text(m.State)
		state.alarm = m.State == "down"
		used := cell{text: "-"}
		if m.Quota > 0 {
			used = percent(float64(m.Size) / float64(m.Quota))
			used.alarm = m.Size > m.Quota*8/10
		}
		t.rows = append(t.rows, []cell{address(m.Endpoint), state, bytes(float64(m.Size)), bytes(float64(m.InUse)), bytes(float64(m.Quota)), used})
	}
	return t
}

// etcdLine is the state of etcd as a whole, and whether that is bad.
func (r report) etcdLine() (line string, bad bool) {
	if r.Etcd.Revision == 0 {
		return "etcd: unknown, because no gateway shows its metrics", true
	}
	up := 0
	for _, m := range r.Etcd.Members {
		if m.State != "down" {
			up++
		}
	}
	line = fmt.Sprintf("etcd: revision %d, %d of %d members answer, reads take %s", r.Etcd.Revision, up, len(r.Etcd.Members), seconds(r.Etcd.Latency).text)
	if len(r.Etcd.Alarms) > 0 {
		line += ", alarms: " + strings.Join(r.Etcd.Alarms, ", ")
	}
	return line, len(r.Etcd.Alarms) > 0 || up < len(r.Etcd.Members)
}

// views are the tables that keys select, and the column by which each is sorted at first.
var views = []struct {
	name    string
	sortBy  int
	table   func(report) table
	nothing string
}{
	{"watches", 2, report.watchTable, "no watches"},
	{"users", 1, report.userTable, "no user holds anything"},
	{"slow", 2, report.slowTable, "every client has taken what was written to it"},
	{"caches", 5, report.cacheTable, "no caches"},
}

func (r report) watchTable() table {
	t := table{columns: []string{"USER", "RESOURCE", ">WATCHES", ">LATE", ">LAG", ">EVENTS/S", ">SENT/S"}}
	for _, w := range r.Watches {
		t.rows = append(t.rows, []cell{text(w.User), text(w.Resource), count(w.Watches), alarming(w.Late), lag(w.Lag), rate(w.Events), bytes(w.Bytes)})
	}
	return t
}

func (r report) userTable() table {
	t := table{columns: []string{"USER", ">CPU", ">REQUESTS", ">WRITES", ">WATCHES", ">WAITING", ">REFUSED/S", "LAST REFUSAL"}}
	for _, u := range r.Users {
		t.rows = append(t.rows, []cell{text(u.User), percent(u.Processor), count(u.InFlight), count(u.Writes), count(u.Watches), alarming(u.Waiting), alarmingRate(u.Refused), text(u.Because)})
	}
	return t
}

func (r report) slowTable() table {
	t := table{columns: []string{"USER", "CLIENT", ">LAG", "PATH", ">REVISION"}}
	for _, w := range r.Slow {
		t.rows = append(t.rows, []cell{text(w.User), text(w.Client), lag(w.Lag), text(w.Path), count(w.Revision)})
	}
	return t
}

func (r report) cacheTable() table {
	t := table{columns: []string{"RESOURCE", "GATEWAY", "STATE", ">OBJECTS", ">MEMORY", ">BEHIND"}}
	for _, c := range r.Caches {
		state := cell{text: "ready"}
		if !c.Ready {
			state = cell{text: "filling", alarm: true}
		}
		t.rows = append(t.rows, []cell{text(c.Resource), address(c.Server), state, count(c.Objects), bytes(float64(c.Bytes)), count(c.Behind)})
	}
	return t
}

// head are the lines above the views.
func (r report) head(width int, style style) []string {
	out := r.gatewayTable().lines(width, -1, style)
	line, bad := r.etcdLine()
	out = append(out, "", limit(line, width, func(text string) string {
		if bad {
			return style.red(text)
		}
		return text
	}))
	if len(r.Etcd.Members) > 0 {
		out = append(out, r.etcdTable().lines(width, -1, style)...)
	}
	for _, note := range r.Notes {
		out = append(out, limit("! "+command.Printable(note), width, style.red))
	}
	return out
}

// limit cuts a text to a width, and marks it.
func limit(text string, width int, mark func(string) string) string {
	if width > 0 {
		text = cut(text, width)
	}
	return mark(text)
}

// print returns everything, for a file or a pipe.
func (r report) print() string {
	out := append([]string{r.Time.Format(time.RFC3339)}, r.head(0, false)...)
	for _, view := range views {
		t := view.table(r)
		t.sort(view.sortBy)
		out = append(out, "", strings.ToUpper(view.name[:1])+view.name[1:]+":")
		if len(t.rows) == 0 {
			out = append(out, view.nothing)
			continue
		}
		out = append(out, t.lines(0, -1, false)...)
	}
	return strings.Join(out, "\n") + "\n"
}
