package objects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/diff"
)

// Escape sequences of terminals (ECMA-48, SGR).
const (
	red, green, yellow, dim, reset = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[0m"
)

var (
	lineColors  = map[diff.Op]string{diff.Removed: red, diff.Added: green, diff.Context: dim}
	eventColors = map[string]string{"ADDED": green, "MODIFIED": yellow, "DELETED": red}
)

// useColor evaluates --color.
func useColor(when string, stdout io.Writer) (bool, error) {
	switch when {
	case "auto":
		return command.IsTerminal(stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", nil
	case "always", "never":
		return when == "always", nil
	}
	return false, fmt.Errorf("--color %q: want auto, always or never", when)
}

// eventPrinter formats the events of a watch.
type eventPrinter struct {
	output   string // diff, json or name
	resource client.Resource
	colored  bool
}

func (p eventPrinter) format(e client.Event) ([]byte, error) {
	switch p.output {
	case "json":
		return marshal(struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}{e.Type, e.Object.JSON}, "")
	case "name":
		return []byte(p.resource.ObjectName(e.Object.Name) + "\n"), nil
	}
	var out bytes.Buffer
	p.writeHeader(&out, e)
	if e.Type == "DELETED" {
		return out.Bytes(), nil
	}
	var before []byte
	if e.Old != nil {
		before = e.Old.JSON
	}
	lines, err := diff.Documents(before, e.Object.JSON, func(path string) bool { return omittedFields[path] })
	for _, line := range lines {
		p.writeColored(&out, lineColors[line.Op], fmt.Sprintf("%c %s", line.Op, line.Text))
		out.WriteByte('\n')
	}
	return out.Bytes(), err
}

// omittedFields are left out of differences, because they change with every write, or never.
var omittedFields = map[string]bool{
	"apiVersion": true, "kind": true, "metadata.managedFields": true, "metadata.resourceVersion": true, "metadata.name": true, "metadata.namespace": true,
}

func (p eventPrinter) writeHeader(out *bytes.Buffer, e client.Event) {
	p.writeColored(out, eventColors[e.Type], fmt.Sprintf("%-8s", e.Type))
	out.WriteString(" " + p.resource.ObjectName(e.Object.Name))
	if e.Object.Namespace != "" {
		out.WriteString(" -n " + e.Object.Namespace)
	}
	details := fmt.Sprintf("revision %d, %s", e.Object.Revision, time.Now().Format(time.TimeOnly))
	if e.Inferred {
		details += ", found by comparing"
	}
	p.writeColored(out, dim, "  ("+details+")")
	out.WriteByte('\n')
}

func (p eventPrinter) writeColored(out *bytes.Buffer, color, text string) {
	if p.colored {
		text = color + text + reset
	}
	out.WriteString(text)
}
