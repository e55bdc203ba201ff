package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/diff"
)

// The words for what has become of an object.
const (
	added   = "added"
	removed = "removed"
	changed = "changed"
)

// counts are numbers of objects.
type counts struct{ added, removed, changed, equal int }

func (c counts) different() int { return c.added + c.removed + c.changed }

// String is the summary.
func (c counts) String() string {
	return fmt.Sprintf("%d of %d objects differ: %d added, %d removed, %d changed", c.different(), c.different()+c.equal, c.added, c.removed, c.changed)
}

// printer prints the objects that differ.
type printer struct {
	*Command

	out    io.Writer
	colors diff.Printer
	counts counts
}

func (c *Command) newPrinter(out io.Writer, colored bool) *printer {
	return &printer{Command: c, out: out, colors: diff.Printer{Colored: colored}}
}

// add compares two states of an object, of which one may be nil.
func (p *printer) add(r client.Resource, before, after *client.Object) error {
	if before != nil && after != nil && bytes.Equal(before.JSON, after.JSON) {
		p.counts.equal++
		return nil
	}
	old, err := p.text(before)
	if err != nil {
		return err
	}
	next, err := p.text(after)
	if err != nil {
		return err
	}
	word, o := changed, after
	switch {
	case before == nil:
		word = added
		p.counts.added++
	case after == nil:
		word, o = removed, before
		p.counts.removed++
	case bytes.Equal(old, next):
		p.counts.equal++
		return nil
	default:
		p.counts.changed++
	}
	switch p.output {
	case "name":
		_, err = fmt.Fprintf(p.out, "%s %s\n", word, fullName(r, o))
	case "json":
		err = p.json(word, r, o, old, next)
	default:
		err = p.diff(word, fullName(r, o), old, next)
	}
	return err
}

// text returns what is compared of an object, as JSON with sorted members; nil: there is no object.
func (p *printer) text(o *client.Object) ([]byte, error) {
	if o == nil {
		return nil, nil
	}
	return diff.Normal(o.JSON, p.showManagedFields)
}

// fullName is configmap/web -n shop.
func fullName(r client.Resource, o *client.Object) string {
	name := r.ObjectName(o.Name)
	if o.Namespace != "" {
		name += " -n " + o.Namespace
	}
	return name
}

var wordColors = map[string]string{added: diff.Green, removed: diff.Red, changed: diff.Yellow}

func (p *printer) diff(word, name string, old, next []byte) error {
	var out bytes.Buffer
	p.colors.Text(&out, wordColors[word], word)
	fmt.Fprintf(&out, " %s\n", name)
	from, to := p.a.Text, p.b.Text
	switch word {
	case added:
		from = "/dev/null"
	case removed:
		to = "/dev/null"
	}
	if err := p.colors.Unified(&out, from, old, to, next); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_, err := p.out.Write(out.Bytes())
	return err
}

// jsonDifference is an object that differs, with --output json.
type jsonDifference struct {
	Change     string          `json:"change"` // added, removed or changed
	Resource   string          `json:"resource"`
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Namespace  string          `json:"namespace,omitempty"`
	Name       string          `json:"name"`
	Before     json.RawMessage `json:"before,omitempty"`
	After      json.RawMessage `json:"after,omitempty"`
}

// json prints an object as an element of the array of differences, so that no more than one of them is in memory.
func (p *printer) json(word string, r client.Resource, o *client.Object, old, next []byte) error {
	head := ",\n"
	if p.counts.different() == 1 {
		head = "{\"differences\":[\n"
	}
	text, err := json.Marshal(jsonDifference{word, r.QualifiedName(), r.APIVersion(), r.Kind, o.Namespace, o.Name, old, next})
	if err == nil {
		_, err = fmt.Fprintf(p.out, "%s%s", head, text)
	}
	return err
}

// end prints what follows the last difference.
func (p *printer) end() error {
	if p.output != "json" {
		return nil
	}
	head := "\n"
	if p.counts.different() == 0 {
		head = "{\"differences\":["
	}
	_, err := fmt.Fprintf(p.out, "%s],\"added\":%d,\"removed\":%d,\"changed\":%d,\"equal\":%d}\n", head, p.counts.added, p.counts.removed, p.counts.changed, p.counts.equal)
	return err
}
