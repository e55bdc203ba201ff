package manual

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/gateway/config/buildinfo"
)

// pageName is the name of the page of a command: revtail-serve.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// pagesBelow are the commands below cmd that have pages.
func pagesBelow(cmd *cobra.Command) (below []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			below = append(below, c)
		}
	}
	return below
}

// page returns the page of a command in the macros of man(7).
func page(cmd *cobra.Command, build buildinfo.Info) string {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	day, _, _ := strings.Cut(build.Date, "T")
	out := new(strings.Builder)
	fmt.Fprintf(out, ".TH %q 1 %q %q \"Commands of revtail\"\n", strings.ToUpper(pageName(cmd)), day, "revtail "+build.Version)
	out.WriteString(".nh\n.ad l\n") // no hyphens in names, no stretched lines
	section := func(title string) { fmt.Fprintf(out, ".SH %s\n", title) }
	section("NAME")
	fmt.Fprintf(out, "%s \\- %s\n", escape(pageName(cmd)), escape(cmd.Short))
	section("SYNOPSIS")
	usage := strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath())
	if cmd.HasAvailableSubCommands() {
		usage = " COMMAND"
	}
	fmt.Fprintf(out, ".B %s\n%s\n", escape(cmd.CommandPath()), escape(strings.TrimSpace(usage)))
	section("DESCRIPTION")
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	writeText(out, long)
	writeCommands(out, cmd)
	writeFlags(out, cmd)
	if cmd.HasExample() {
		section("EXAMPLES")
		writeLiteral(out, strings.Split(cmd.Example, "\n"))
	}
	writeSeeAlso(out, cmd)
	return out.String()
}

func writeCommands(out *strings.Builder, cmd *cobra.Command) {
	below := pagesBelow(cmd)
	if len(below) == 0 {
		return
	}
	out.WriteString(".SH COMMANDS\n")
	for _, c := range below {
		fmt.Fprintf(out, ".TP\n.BR %s (1)\n%s\n", escape(pageName(c)), escape(c.Short))
	}
}

// writeFlags writes the flags with a heading for each of their groups, if there are several.
func writeFlags(out *strings.Builder, cmd *cobra.Command) {
	out.WriteString(".SH OPTIONS\n")
	sections := command.FlagSections(cmd.Flags())
	for _, section := range sections {
		if len(sections) > 1 {
			fmt.Fprintf(out, ".SS %s\n", escape(section.Title))
		}
		for _, flag := range section.Flags {
			name, usage := command.DescribeFlag(flag)
			fmt.Fprintf(out, ".TP\n.B %s\n%s\n", escape(name), escape(usage))
		}
	}
}

func writeSeeAlso(out *strings.Builder, cmd *cobra.Command) {
	others := []*cobra.Command{cmd.Parent()}
	if cmd.HasParent() {
		others = append(others, pagesBelow(cmd.Parent())...)
	} else {
		others = pagesBelow(cmd)
	}
	out.WriteString(".SH SEE ALSO\n")
	var references []string
	for _, other := range others {
		if other != cmd {
			references = append(references, fmt.Sprintf("\\fB%s\\fR(1)", escape(pageName(other))))
		}
	}
	out.WriteString(strings.Join(references, ",\n") + "\n")
}

// writeText writes paragraphs, which empty lines separate. Lines that begin with two spaces keep their form.
func writeText(out *strings.Builder, text string) {
	var literal []string
	flush := func() {
		writeLiteral(out, literal)
		literal = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "  "):
			literal = append(literal, line)
		case line == "" && literal != nil:
			literal = append(literal, line)
		case line == "":
			out.WriteString(".PP\n")
		default:
			if literal != nil {
				flush()
				out.WriteString(".PP\n")
			}
			out.WriteString(escape(strings.TrimPrefix(line, "#### ")) + "\n") // headings of cobra's text about completion
		}
	}
	flush()
}

// writeLiteral writes lines as they are, indented.
func writeLiteral(out *strings.Builder, lines []string) {
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 {
		return
	}
	out.WriteString(".PP\n.RS 4\n.nf\n")
	for _, line := range lines {
		out.WriteString(escape(strings.TrimPrefix(line, "  ")) + "\n")
	}
	out.WriteString(".fi\n.RE\n")
}

// escape makes a line of text one of roff.
func escape(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\(ga", "^", `\(ha`, "~", `\(ti`).Replace(line)
	if strings.HasPrefix(line, ".") {
		line = `\&` + line
	}
	return line
}
