// Package version has the command that prints what this program was built from.
package version

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"revtail/cmd/revtail/command"
	"revtail/etcdstore/embedded"
	"revtail/gateway/api/discovery"
	"revtail/gateway/config/buildinfo"
)

const longHelp = `Print the version of revtail, the commit and its date, and the versions of Go and of the embedded etcd.

Version, commit and date are those that the go command recorded from Git. It records none with go build -buildvcs=false, outside of a clone,
and in a linked worktree of Git: then the version is (devel) and the commit is unknown. 'go install' of a version records only that version.
/version of a gateway and the metric revtail_build_info have the same values.`

const examples = `  revtail version
  revtail version -o json | jq -r .gitCommit`

// NewCommand returns the command version.
func NewCommand(build buildinfo.Info) *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", GroupID: command.GroupOther,
		Short: "Print the versions of revtail, Go and the embedded etcd",
		Long:  longHelp, Example: examples,
	}
	output := cmd.Flags().StringP("output", "o", "text", "`format`: text, json or yaml")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = command.NoArgs(func(cmd *cobra.Command) error {
		out := cmd.OutOrStdout()
		switch *output {
		case "text":
			return printText(out, build)
		case "json":
			encoder := json.NewEncoder(out)
			encoder.SetIndent("", "  ")
			return encoder.Encode(documentOf(build))
		case "yaml":
			text, err := yaml.Marshal(documentOf(build))
			if err == nil {
				_, err = out.Write(text)
			}
			return err
		}
		return command.UsageError(fmt.Errorf("--output %q: want text, json or yaml, as -o json", *output))
	})
	return cmd
}

// Line describes a build in one line, for --version.
func Line(build buildinfo.Info) string {
	if build.Commit == "" {
		return build.Version
	}
	return fmt.Sprintf("%s (commit %s, %s)", build.Version, build.Commit, build.Date)
}

// document is the output as JSON or YAML. Its names are those of /version, where that has the value.
type document struct {
	Version      string   `json:"version"`
	GitVersion   string   `json:"gitVersion"` // of /version, with the version of Kubernetes whose protocol this is
	GitCommit    string   `json:"gitCommit"`
	GitTreeState string   `json:"gitTreeState"`
	BuildDate    string   `json:"buildDate"`
	GoVersion    string   `json:"goVersion"`
	Compiler     string   `json:"compiler"`
	Platform     string   `json:"platform"`
	EtcdVersion  string   `json:"etcdVersion,omitempty"`
	Without      []string `json:"without,omitempty"`
}

func documentOf(build buildinfo.Info) document {
	return document{
		Version: build.Version, GitVersion: discovery.GitVersion(build.Version), GitCommit: build.Commit, GitTreeState: build.TreeState, BuildDate: build.Date,
		GoVersion: build.Go, Compiler: build.Compiler, Platform: build.Platform, EtcdVersion: embedded.Version(), Without: build.Without,
	}
}

func printText(out io.Writer, build buildinfo.Info) error {
	commit := build.Commit
	switch {
	case commit == "":
		commit = "unknown: built without version control information, see revtail version --help"
	case build.TreeState == "dirty":
		commit += ", with changes that are not committed"
	}
	lines := []string{
		"revtail " + build.Version,
		"commit  " + commit,
		"date    " + cmp.Or(build.Date, "unknown"),
		"go      " + build.Go + " " + build.Platform,
		"etcd    " + cmp.Or(embedded.Version(), "none embedded"),
	}
	if len(build.Without) > 0 {
		lines = append(lines, "without "+strings.Join(build.Without, ", "))
	}
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}
