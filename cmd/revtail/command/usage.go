package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"revtail/gateway/config"
)

const (
	usageIndent   = 8  // columns before the meaning of a flag
	minUsageWidth = 40 // columns; narrower terminals wrap the lines
)

// PrintUsage is a UsageFunc of cobra. It prints how a command is called, examples, the commands below it and the flags, both in
// groups, in lines that fit into the terminal.
func PrintUsage(cmd *cobra.Command) error {
	out := new(strings.Builder)
	line := cmd.UseLine()
	switch {
	case cmd.HasAvailableSubCommands() && strings.Contains(cmd.Use, " "): // it has arguments of its own, too
		line += "\n  " + cmd.CommandPath() + " COMMAND"
	case cmd.HasAvailableSubCommands():
		line = cmd.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(out, "Usage:\n  %s\n", line)
	if cmd.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", cmd.Example)
	}
	writeCommands(out, cmd)
	writeFlags(out, cmd.Flags(), Width(cmd.OutOrStdout()))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "\nUse \"%s COMMAND --help\" for more about a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), out.String())
	return err
}

// writeCommands writes the commands below cmd, in their groups.
func writeCommands(out *strings.Builder, cmd *cobra.Command) {
	sections := []*cobra.Group{{Title: "Commands:"}} // of the commands without a group
	for _, g := range append(sections, cmd.Groups()...) {
		title := fmt.Sprintf("\n%s\n", g.Title)
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && c.IsAvailableCommand() {
				fmt.Fprintf(out, "%s  %-*s %s\n", title, cmd.NamePadding(), c.Name(), c.Short)
				title = ""
			}
		}
	}
}

// FlagSection is a group of flags with a title.
type FlagSection struct {
	Title string
	Flags []*pflag.Flag
}

// FlagSections returns flags in their groups, in the order of the first flag of each. --help is in the last group.
func FlagSections(flags *pflag.FlagSet) (sections []FlagSection) {
	add := func(title string, flag *pflag.Flag) {
		i := slices.IndexFunc(sections, func(s FlagSection) bool { return s.Title == title })
		if i < 0 {
			i, sections = len(sections), append(sections, FlagSection{Title: title})
		}
		sections[i].Flags = append(sections[i].Flags, flag)
	}
	var help *pflag.Flag
	flags.VisitAll(func(flag *pflag.Flag) {
		switch title := flag.Annotations[config.FlagGroup]; {
		case flag.Hidden:
		case flag.Name == "help":
			help = flag
		case title != nil:
			add(title[0], flag)
		default:
			add("Flags", flag)
		}
	})
	switch {
	case help != nil && len(sections) == 0:
		add("Flags", help)
	case help != nil:
		add(sections[len(sections)-1].Title, help)
	}
	return sections
}

// writeFlags writes flags, in their groups.
func writeFlags(out *strings.Builder, flags *pflag.FlagSet, width int) {
	for _, section := range FlagSections(flags) {
		fmt.Fprintf(out, "\n%s:\n", section.Title)
		for _, flag := range section.Flags {
			name, usage := DescribeFlag(flag)
			fmt.Fprintf(out, "  %s\n", name)
			for _, line := range wrap(usage, max(width, minUsageWidth)-usageIndent) {
				fmt.Fprintf(out, "%*s%s\n", usageIndent, "", line)
			}
		}
	}
}

// DescribeFlag returns a flag with its argument and its default, and its meaning.
func DescribeFlag(flag *pflag.Flag) (name, usage string) {
	argument, usage := pflag.UnquoteUsage(flag)
	if flag.Value.Type() == "bool" {
		argument = ""
	}
	name = "--" + flag.Name
	if flag.Shorthand != "" {
		name = "-" + flag.Shorthand + ", " + name
	}
	name = strings.TrimSpace(name + " " + argument)
	switch {
	case flag.DefValue == "" || flag.DefValue == "false" || flag.DefValue == "[]":
	case flag.Value.Type() == "string":
		name += fmt.Sprintf(" (default %q)", flag.DefValue)
	default:
		name += fmt.Sprintf(" (default %s)", strings.Trim(flag.DefValue, "[]")) // brackets of a list
	}
	return name, usage
}

// wrap splits a text at spaces into lines of width bytes at most, if its words are no longer.
func wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}
