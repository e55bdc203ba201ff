package history

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"revtail/cmd/revtail/command"
	"revtail/encoding"
)

// print prints the object, with the origin of each leaf on the line where it begins.
func (b *blamer) print(w io.Writer) error {
	object, err := encoding.MarshalValue(b.known.value)
	if err != nil {
		return err
	}
	text, err := encoding.YAML(object)
	if err != nil {
		return err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return fmt.Errorf("the object as YAML: %w", err)
	}
	origins := make(map[int]*origin)
	if len(document.Content) > 0 {
		locate(document.Content[0], b.known, 0, origins)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	_, err = io.WriteString(w, annotate(lines, origins))
	return err
}

// locate finds the line of each leaf. line is that of its name, for a text in several lines that begins below it; zero: it has none.
func locate(node *yaml.Node, of *tree, line int, origins map[int]*origin) {
	switch {
	case node.Kind == yaml.MappingNode && len(node.Content) > 0:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if member := of.members[node.Content[i].Value]; member != nil {
				locate(node.Content[i+1], member, node.Content[i].Line, origins)
			}
		}
	case node.Kind == yaml.SequenceNode && len(node.Content) > 0:
		for i, element := range node.Content {
			if i < len(of.elements) {
				locate(element, of.elements[i], 0, origins)
			}
		}
	case line != 0:
		origins[line] = of.origin
	default:
		origins[node.Line] = of.origin
	}
}

// annotate aligns lines behind their origins.
func annotate(lines []string, origins map[int]*origin) string {
	var widths [3]int
	for _, o := range origins {
		for i, cell := range o.cells() {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	for i, line := range lines {
		cells := [3]string{}
		if o := origins[i+1]; o != nil {
			cells = o.cells()
		}
		for j, cell := range cells {
			if widths[j] > 0 {
				pad(&out, cell, widths[j])
			}
		}
		out.WriteString("| " + command.Printable(line) + "\n")
	}
	return out.String()
}

// cells are the columns of an origin.
func (o *origin) cells() [3]string {
	return [3]string{o.String(), o.time, command.Printable(o.manager)}
}
