// Package manual writes the man pages and the shell completions of revtail. Both follow from the commands, so that a new command has them.
//
// It is a command of the program, because only the program knows its commands. It is hidden: packages contain what it writes. It formats
// the pages itself, because the generator of cobra brings a Markdown parser along.
package manual

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/gateway/config/buildinfo"
)

const longHelp = `Write the man pages and the shell completions of revtail into a directory:

  man/man1/revtail.1, and a page for each command
  completions/revtail.bash, _revtail (zsh), revtail.fish, revtail.ps1 (PowerShell)`

const examples = `  # read a page without installing it
  revtail manual /tmp/revtail && man -l /tmp/revtail/man/man1/revtail-serve.1`

// NewCommand returns the command manual.
func NewCommand(build buildinfo.Info) *cobra.Command {
	return &cobra.Command{
		Use:   "manual DIRECTORY",
		Short: "Write the man pages and the shell completions",
		Long:  longHelp, Example: examples,
		Hidden: true,
		RunE: command.MaxArgs(1, func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.UsageError(errors.New("name the directory for the files, as revtail manual /tmp/revtail" + command.HelpHint(cmd)))
			}
			return write(cmd.Root(), build, args[0])
		}),
	}
}

// write writes all files below a directory.
func write(root *cobra.Command, build buildinfo.Info, dir string) error {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	shells := map[string]func(io.Writer) error{
		"revtail.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"_revtail":     root.GenZshCompletion,
		"revtail.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
		"revtail.ps1":  root.GenPowerShellCompletionWithDesc,
	}
	var errs []error
	for name, generate := range shells {
		errs = append(errs, writeFile(filepath.Join(dir, "completions", name), generate))
	}
	errs = append(errs, writePages(root, build, filepath.Join(dir, "man", "man1")))
	return errors.Join(errs...)
}

// writePages writes the page of a command and those of the commands below it.
func writePages(cmd *cobra.Command, build buildinfo.Info, dir string) error {
	errs := []error{writeFile(filepath.Join(dir, pageName(cmd)+".1"), func(w io.Writer) error {
		_, err := io.WriteString(w, page(cmd, build))
		return err
	})}
	for _, below := range pagesBelow(cmd) {
		errs = append(errs, writePages(below, build, dir))
	}
	return errors.Join(errs...)
}

func writeFile(name string, generate func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := errors.Join(generate(file), file.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
