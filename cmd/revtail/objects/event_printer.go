package objects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/diff"
)

var eventColors = map[string]string{"ADDED": diff.Green, "MODIFIED": diff.Yellow, "DELETED": diff.Red}

// eventPrinter formats the events of a watch as differences.
type eventPrinter struct{ diff.Printer }

func (p eventPrinter) format(r client.Resource, e client.Event) ([]byte, error) {
	var out bytes.Buffer
	p.writeHeader(&out, r, e)
	if e.Type == "DELETED" {
		return out.Bytes(), nil
	}
	var before []byte
	if e.Old != nil {
		before = e.Old.JSON
	}
	lines, err := diff.Documents(before, e.Object.JSON, diff.IsOmitted)
	p.Lines(&out, lines)
	return out.Bytes(), err
}

func (p eventPrinter) writeHeader(out *bytes.Buffer, r client.Resource, e client.Event) {
	p.Text(out, eventColors[e.Type], fmt.Sprintf("%-8s", e.Type))
	out.WriteString(" " + r.ObjectName(e.Object.Name))
	if e.Object.Namespace != "" {
		out.WriteString(" -n " + e.Object.Namespace)
	}
	when := time.Now().Format(time.TimeOnly)
	if !e.Time.IsZero() {
		when = e.Time.Local().Format(time.DateTime)
	}
	details := fmt.Sprintf("revision %d, %s", e.Object.Revision, when)
	if e.Inferred {
		details += ", found by comparing"
	}
	p.Text(out, diff.Dim, "  ("+details+")")
	out.WriteByte('\n')
}

// marshal returns JSON with a final newline. It does not escape <, > and &, because the output is no HTML.
func marshal(document any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(document)
	return out.Bytes(), err
}
