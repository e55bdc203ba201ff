package objects

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"

	"revtail/cmd/revtail/completion"
)

// format is a value of --output.
type format struct {
	name  string
	usage string // of the part after =; empty: there is none
	file  bool   // that part is the name of a file
	make  func(text string, p *printing) (printers.ResourcePrinter, error)
}

// documentFormats are the values of --output that print documents, as those of kubectl.
var documentFormats = []format{
	{name: "json", make: func(string, *printing) (printers.ResourcePrinter, error) { return &printers.JSONPrinter{}, nil }},
	{name: "yaml", make: func(string, *printing) (printers.ResourcePrinter, error) { return &printers.YAMLPrinter{}, nil }},
	{name: "name", make: func(string, *printing) (printers.ResourcePrinter, error) { return &printers.NamePrinter{}, nil }},
	{name: "kyaml", make: func(string, *printing) (printers.ResourcePrinter, error) { return &printers.KYAMLPrinter{}, nil }},
	{name: "jsonpath", usage: "TEMPLATE", make: newJSONPathPrinter},
	{name: "jsonpath-file", usage: "FILE", file: true, make: newJSONPathPrinter},
	{name: "jsonpath-as-json", usage: "TEMPLATE", make: newJSONPathAsJSONPrinter},
	{name: "go-template", usage: "TEMPLATE", make: newGoTemplatePrinter},
	{name: "go-template-file", usage: "FILE", file: true, make: newGoTemplatePrinter},
	{name: "custom-columns", usage: "HEADER:PATH,…", make: newColumnsPrinter},
	{name: "custom-columns-file", usage: "FILE", file: true, make: newColumnsFilePrinter},
}

// aliases are other names of formats, which kubectl has too.
var aliases = map[string]string{"template": "go-template", "templatefile": "go-template-file"}

// examples of the templates of formats, for errors.
var examples = map[string]string{
	"jsonpath":         `-o jsonpath='{.items[*].metadata.name}'`,
	"jsonpath-as-json": `-o jsonpath-as-json='{.items[*].metadata}'`,
	"go-template":      `-o go-template='{{range .items}}{{.metadata.name}}{{"\n"}}{{end}}'`,
	"custom-columns":   `-o custom-columns=NAME:.metadata.name,AGE:.metadata.creationTimestamp`,
}

// printing are the flags that say how objects are printed.
type printing struct {
	output            string
	template          string
	missingKeys       bool
	noHeaders         bool
	showLabels        bool
	showKind          bool
	labelColumns      []string
	showManagedFields bool

	own []string // values of --output that are not in documentFormats; the first one is the default

	format    string                   // of output, without its template
	documents printers.ResourcePrinter // nil: format is one of own
}

// addFlags defines the flags. own are the values of --output that are not in documentFormats; the first one is the default.
func (p *printing) addFlags(cmd *cobra.Command, own ...string) {
	set := cmd.Flags()
	p.own = own
	set.StringVarP(&p.output, "output", "o", own[0], "`format` of the output: "+strings.Join(p.formats(), ", "))
	var values []string
	for _, value := range p.formats() {
		name, _, template := strings.Cut(value, "=")
		if template {
			name += "="
		}
		values = append(values, name)
	}
	completion.Assignments(cmd, "output", values...)
	set.StringVar(&p.template, "template", "", "`text` or file of the template, if it is not in --output; without --output a Go template")
	set.BoolVar(&p.missingKeys, "allow-missing-template-keys", true, "a field or key of a template that is missing is no error")
	set.BoolVar(&p.noHeaders, "no-headers", false, "print no column headers")
	set.BoolVar(&p.showLabels, "show-labels", false, "print the labels in a last column")
	set.StringSliceVarP(&p.labelColumns, "label-columns", "L", nil, "comma-separated `labels` to print as columns; may be repeated")
	set.BoolVar(&p.showKind, "show-kind", false, "print the kind before each name, as configmap/web")
	set.BoolVar(&p.showManagedFields, "show-managed-fields", false, "keep metadata.managedFields in JSON and YAML")
}

// formats returns the values of --output, for --help, errors and completion.
func (p *printing) formats() []string {
	out := slices.Clone(p.own)
	for _, f := range documentFormats {
		name := f.name
		if slices.Contains(p.own, name) {
			continue
		}
		if f.usage != "" {
			name += "=" + f.usage
		}
		out = append(out, name)
	}
	return out
}

// parse reads the flags. An error names the flag, and what it should be.
func (p *printing) parse() error {
	if err := p.choose(); err != nil {
		return err
	}
	return p.checkColumns()
}

// choose finds the format of --output and --template.
func (p *printing) choose() error {
	name, text, hasText := strings.Cut(p.output, "=")
	if p.template != "" && p.output == p.own[0] {
		name = "go-template"
	}
	if alias, ok := aliases[name]; ok {
		name = alias
	}
	p.format = name
	if slices.Contains(p.own, name) && !hasText {
		return p.checkTemplate(false)
	}
	i := slices.IndexFunc(documentFormats, func(f format) bool { return f.name == name })
	if i < 0 || hasText && documentFormats[i].usage == "" {
		return fmt.Errorf("--output %q: want one of %s", p.output, strings.Join(p.formats(), ", "))
	}
	f := documentFormats[i]
	if err := p.checkTemplate(f.usage != "" && text == ""); err != nil {
		return err
	}
	if f.usage != "" && text == "" {
		if text = p.template; text == "" {
			return fmt.Errorf("--output %s: want %s=%s%s", p.output, f.name, f.usage, exampleOf(f.name))
		}
	}
	source := "--output " + f.name
	if f.file {
		content, err := os.ReadFile(text)
		if err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
		source, text = source+"="+text, string(content)
	}
	printer, err := f.make(text, p)
	if err != nil {
		return fmt.Errorf("%s: %w%s", source, err, exampleOf(f.name))
	}
	p.documents = printer
	return nil
}

// checkTemplate refuses a --template that would have no effect.
func (p *printing) checkTemplate(wanted bool) error {
	if p.template != "" && !wanted {
		return fmt.Errorf("--template has no effect with --output %s: leave it out, or want --output go-template or jsonpath", p.output)
	}
	return nil
}

// checkColumns refuses flags of columns that would have no effect.
func (p *printing) checkColumns() error {
	if p.isTable() {
		return nil
	}
	for flag, given := range map[string]bool{"--show-labels": p.showLabels, "--label-columns": len(p.labelColumns) > 0, "--show-kind": p.showKind} {
		if given {
			return fmt.Errorf("%s has no effect with --output %s: want --output table or wide", flag, p.format)
		}
	}
	return nil
}

// isTable reports whether rows are printed.
func (p *printing) isTable() bool { return p.format == "table" || p.format == "wide" }

func exampleOf(name string) string {
	if example := examples[name]; example != "" {
		return ", for example " + example
	}
	return ""
}

func newJSONPathPrinter(text string, p *printing) (printers.ResourcePrinter, error) {
	out, err := printers.NewJSONPathPrinter(text)
	if err != nil {
		return nil, err
	}
	out.AllowMissingKeys(p.missingKeys)
	return out, nil
}

func newJSONPathAsJSONPrinter(text string, p *printing) (printers.ResourcePrinter, error) {
	out, err := printers.NewJSONPathPrinter(text)
	if err != nil {
		return nil, err
	}
	out.AllowMissingKeys(p.missingKeys)
	out.EnableJSONOutput(true)
	return out, nil
}

func newGoTemplatePrinter(text string, p *printing) (printers.ResourcePrinter, error) {
	out, err := printers.NewGoTemplatePrinter([]byte(text))
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: output:"))
	}
	out.AllowMissingKeys(p.missingKeys)
	return out, nil
}
