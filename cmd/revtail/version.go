package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/etcdstore/embedded"
)

// version is set by the linker for a release: -ldflags "-X main.version=v1.2.3".
var version string

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of revtail, Go and the embedded etcd",
		RunE: command.NoArgs(func(cmd *cobra.Command) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "revtail %s\ngo      %s %s/%s\netcd    %s\n",
				programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, embedded.Version())
			return err
		}),
	}
}

// programVersion is that of the release, else what Go noted when it built the program.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
