package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/diff"
	"revtail/cmd/revtail/history/historyapi"
)

// printer prints changes, each in a single write.
type printer struct {
	*session
	output

	out       io.Writer
	width     int
	objects   bool // rows name the object
	namespace bool // and its namespace
}

// columns are those of a row before the fields. A cell that is longer moves the rest of its row.
var columns = []struct {
	name  string
	width int
	show  func(*printer) bool
	cell  func(client.Resource, historyapi.Entry) string
}{
	{"TIME", 19, nil, func(_ client.Resource, e historyapi.Entry) string { return localTime(e.Time) }},
	{"REVISION", 8, nil, func(_ client.Resource, e historyapi.Entry) string { return strconv.FormatInt(e.Revision, 10) }},
	{"TYPE", 8, nil, func(_ client.Resource, e historyapi.Entry) string { return e.Type }},
	{"NAMESPACE", 16, func(p *printer) bool { return p.namespace }, func(_ client.Resource, e historyapi.Entry) string { return e.Namespace }},
	{"OBJECT", 32, func(p *printer) bool { return p.objects }, func(r client.Resource, e historyapi.Entry) string { return r.ObjectName(e.Name) }},
	{"MANAGER", 23, nil, func(_ client.Resource, e historyapi.Entry) string { return orUnknown(e.Manager) }},
	{"OPERATION", 9, (*printer).wide, func(_ client.Resource, e historyapi.Entry) string { return e.Operation }},
	{"SUBRESOURCE", 11, (*printer).wide, func(_ client.Resource, e historyapi.Entry) string { return e.Subresource }},
}

func (p *printer) wide() bool { return p.format == "wide" }

// localTime is a time as rows have it.
func localTime(t time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return t.Local().Format(time.DateTime)
}

// unknown is the text of what is not known, as in the tables of kubectl.
const unknown = "<unknown>"

func orUnknown(text string) string {
	if text == "" {
		return unknown
	}
	return text
}

// header prints the headers of the columns.
func (p *printer) header() error {
	if p.noHeaders || p.format == "json" {
		return nil
	}
	var row strings.Builder
	for _, column := range columns {
		if column.show == nil || column.show(p) {
			pad(&row, column.name, column.width)
		}
	}
	_, err := fmt.Fprintln(p.out, row.String()+"FIELDS")
	return err
}

func pad(row *strings.Builder, cell string, width int) {
	row.WriteString(cell)
	row.WriteString(strings.Repeat(" ", max(0, width-utf8.RuneCountInString(cell))+2))
}

// entry prints a change or a gap.
func (p *printer) entry(r client.Resource, e historyapi.Entry) error {
	var out bytes.Buffer
	switch {
	case p.format == "json":
		p.json(&out, e)
	case e.IsGap():
		p.note(&out, e.GapText())
	default:
		p.row(&out, r, e)
		if p.patch {
			if err := p.differences(&out, r, e); err != nil {
				return fmt.Errorf("revision %d of %s: %w", e.Revision, fullName(r, e.Namespace, e.Name), err)
			}
		}
	}
	_, err := p.out.Write(out.Bytes())
	return err
}

// note prints a line about what is not known.
func (p *printer) note(out *bytes.Buffer, text string) {
	p.colors.Text(out, diff.Dim, "-- "+text+" --")
	out.WriteByte('\n')
}

// json prints a line of the API, without values of Secrets.
func (p *printer) json(out *bytes.Buffer, e historyapi.Entry) {
	text := []byte(e.Line)
	for _, object := range []json.RawMessage{e.Object, e.Previous} {
		if hidden := p.hide(object); !bytes.Equal(hidden, object) {
			text = bytes.ReplaceAll(text, object, hidden)
		}
	}
	out.Write(text)
	out.WriteByte('\n')
}

var typeColors = map[string]string{"ADDED": diff.Green, "MODIFIED": diff.Yellow, "DELETED": diff.Red}

func (p *printer) row(out *bytes.Buffer, r client.Resource, e historyapi.Entry) {
	var row strings.Builder
	for _, column := range columns {
		if column.show == nil || column.show(p) {
			pad(&row, command.Printable(column.cell(r, e)), column.width)
		}
	}
	rest := 0
	if !p.wide() {
		rest = max(p.width-utf8.RuneCountInString(row.String()), minFields)
	}
	line := strings.TrimRight(row.String()+command.Printable(shorten(e.Fields, rest)+e.Unreadable), " ")
	before, after, _ := strings.Cut(line, e.Type)
	out.WriteString(before)
	p.colors.Text(out, typeColors[e.Type], e.Type)
	out.WriteString(after + "\n")
}

// minFields is the least width of the fields, in columns.
const minFields = 20

// shorten joins fields to a text of width characters at most, which says how many it leaves out; 0: no limit.
func shorten(fields []string, width int) string {
	all := strings.Join(fields, ", ")
	if width == 0 || utf8.RuneCountInString(all) <= width {
		return all
	}
	text := ""
	for i, field := range fields {
		next := field
		if i > 0 {
			next = text + ", " + field
		}
		rest := fmt.Sprintf(" +%d", len(fields)-i-1)
		if utf8.RuneCountInString(next+rest) > width {
			if i > 0 {
				return text + fmt.Sprintf(" +%d", len(fields)-i)
			}
			if len(fields) == 1 {
				rest = ""
			}
			runes := []rune(field)
			return string(runes[:max(1, width-len(rest)-1)]) + "…" + rest
		}
		text = next
	}
	return text
}

// differences prints what a change has changed, as YAML.
func (p *printer) differences(out *bytes.Buffer, r client.Resource, e historyapi.Entry) error {
	before, after := e.Previous, e.Object
	from, to := "before", "revision "+strconv.FormatInt(e.Revision, 10)
	switch e.Type {
	case "ADDED":
		before, from = nil, "/dev/null"
	case "DELETED":
		before, after, to = e.Object, nil, "/dev/null"
	}
	if before == nil && after == nil || e.Type == "MODIFIED" && before == nil || e.Type == "ADDED" && after == nil {
		if e.Unreadable == "" { // otherwise the row says so
			p.note(out, "the values of "+fullName(r, e.Namespace, e.Name)+" are not recorded")
		}
		return nil
	}
	old, err := p.normal(before)
	if err != nil {
		return err
	}
	next, err := p.normal(after)
	if err != nil {
		return err
	}
	if bytes.Equal(old, next) {
		return nil
	}
	return p.colors.Unified(out, from, old, to, next)
}

func (p *printer) normal(object json.RawMessage) ([]byte, error) {
	if object == nil {
		return nil, nil
	}
	return diff.Normal(p.hide(object), false)
}
