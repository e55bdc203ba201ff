package keys

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/keys/keyapi"
)

// printer prints items one after the other, so that a large prefix needs little memory.
type printer struct {
	out      io.Writer
	table    *tabwriter.Writer // of the format table
	output   string            // a value of --output
	single   bool              // the items are one key
	printed  int
	terminal bool
}

func newPrinter(out io.Writer, output string, single bool) *printer {
	return &printer{out: out, table: tabwriter.NewWriter(out, 0, 8, 3, ' ', 0), output: output, single: single, terminal: command.IsTerminal(out)}
}

// tableFlush is after how many rows a table is printed: each part aligns its columns for itself.
const tableFlush = 1000

// print prints an item. revision is that of the whole answer.
func (p *printer) print(revision int64, text json.RawMessage) error {
	i, err := keyapi.DecodeItem(text)
	if err != nil {
		return err
	}
	p.printed++
	switch p.output {
	case "key":
		_, err = fmt.Fprintln(p.out, p.name(i))
	case "value":
		err = p.printValue(i)
	case "json", "yaml":
		err = p.printDocument(revision, text)
	default:
		err = p.printRow(i)
	}
	return err
}

// name is the key, on a terminal without control characters.
func (p *printer) name(i keyapi.Item) string {
	if p.terminal {
		return command.Printable(i.String())
	}
	return i.String()
}

func (p *printer) printValue(i keyapi.Item) error {
	content, err := i.Bytes()
	if err != nil {
		return err
	}
	if p.terminal && isBinary(content) {
		return fmt.Errorf("the value of %q is %d bytes that are no text, which would confuse the terminal: write it to a file with > FILE, or use -o json", i.String(), len(content))
	}
	if (p.terminal || !p.single) && !bytes.HasSuffix(content, []byte("\n")) {
		content = append(content, '\n')
	}
	_, err = p.out.Write(content)
	return err
}

// isBinary reports whether bytes are no text that a terminal can show.
func isBinary(content []byte) bool {
	return !utf8.Valid(content) || bytes.ContainsFunc(content, func(c rune) bool { return unicode.IsControl(c) && !strings.ContainsRune("\n\r\t", c) })
}

func (p *printer) printRow(i keyapi.Item) error {
	if p.printed == 1 {
		if _, err := fmt.Fprintln(p.table, "KEY\tREVISION\tVERSION\tLEASE\tSIZE\tVALUE"); err != nil {
			return err
		}
	}
	size, content := "-", []byte(nil)
	if i.Encoding != "" {
		var err error
		if content, err = i.Bytes(); err != nil {
			return err
		}
		size = strconv.Itoa(len(content))
	}
	if _, err := fmt.Fprintf(p.table, "%s\t%d\t%d\t%s\t%s\t%s\n", tableName(i.String()), i.ModRevision, i.Version, lease(i), size, cell(content)); err != nil {
		return err
	}
	if p.printed%tableFlush == 0 {
		return p.table.Flush()
	}
	return nil
}

// printDocument prints one key as a document, and those of a prefix as the answer of the API, without its pages.
func (p *printer) printDocument(revision int64, text json.RawMessage) error {
	if p.output == "yaml" {
		return p.printYAML(revision, text)
	}
	indent := "    "
	switch {
	case p.single:
		indent = ""
	case p.printed == 1:
		if _, err := fmt.Fprintf(p.out, "{\n  \"revision\": %d,\n  \"items\": [", revision); err != nil {
			return err
		}
	}
	var out bytes.Buffer
	if !p.single {
		if p.printed > 1 {
			out.WriteByte(',')
		}
		out.WriteString("\n" + indent)
	}
	err := json.Indent(&out, text, indent, "  ")
	if err == nil {
		_, err = p.out.Write(out.Bytes())
	}
	return err
}

func (p *printer) printYAML(revision int64, text json.RawMessage) error {
	if !p.single {
		text = append(append(json.RawMessage{'['}, text...), ']')
	}
	document, err := yaml.JSONToYAML(text)
	if err != nil {
		return err
	}
	if p.printed == 1 && !p.single {
		document = append([]byte(fmt.Sprintf("revision: %d\nitems:\n", revision)), document...)
	}
	_, err = p.out.Write(document)
	return err
}

// end prints what follows the last item.
func (p *printer) end(revision int64) error {
	text := ""
	switch {
	case p.output == "json" && p.single:
		text = "\n"
	case p.output == "json" && p.printed == 0:
		text = fmt.Sprintf("{\n  \"revision\": %d,\n  \"items\": []\n}\n", revision)
	case p.output == "json":
		text = "\n  ]\n}\n"
	case p.output == "yaml" && p.printed == 0:
		text = fmt.Sprintf("revision: %d\nitems: []\n", revision)
	}
	if _, err := io.WriteString(p.out, text); err != nil {
		return err
	}
	return p.table.Flush()
}

// tableName is a key in a table, whose columns are separated by tabs.
func tableName(key string) string {
	return strings.ReplaceAll(command.Printable(key), "\t", `\t`)
}
