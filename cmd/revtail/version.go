package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/etcdstore/embedded"
)

// version of a release, set by the linker: -ldflags "-X main.version=v1.2.3".
var version string

func newVersionCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of revtail, Go and the embedded etcd",
		RunE: command.NoArgs(func(cmd *cobra.Command) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "revtail %s\ngo      %s %s/%s\netcd    %s\n",
				version, runtime.Version(), runtime.GOOS, runtime.GOARCH, embedded.Version())
			return err
		}),
	}
}

// programVersion is the version of the release, else the one that the go command has recorded.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
