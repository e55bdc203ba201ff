package envtest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
)

const setupHelp = `Make a directory for KUBEBUILDER_ASSETS, in which kube-apiserver and etcd are links to this program, and kubectl is a link to the one in
PATH. Tests with controller-runtime's envtest then start revtail: no binaries are downloaded.

The command prints the variable as a line for the shell. It replaces links, and no other files.`

// NewCommand returns the command envtest.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "envtest", GroupID: command.GroupServer, Short: "Run tests that use controller-runtime's envtest on revtail",
		Long: "Run tests that use controller-runtime's envtest on revtail, instead of on a kube-apiserver and an etcd.",
		Args: cobra.ArbitraryArgs, // RunE refuses them
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return command.UsageError(fmt.Errorf("unknown command %q: want setup%s", args[0], command.HelpHint(cmd)))
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newSetupCommand())
	return cmd
}

func newSetupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "setup DIR", Short: "Make the directory for KUBEBUILDER_ASSETS", Long: setupHelp,
		Example: `  # in a project of kubebuilder or of controller-runtime
  eval "$(revtail envtest setup bin/revtail-envtest)"
  go test ./...`,
	}
	cmd.RunE = command.MaxArgs(1, func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || args[0] == "" {
			return command.UsageError(fmt.Errorf("want the directory to make, as in 'revtail envtest setup bin/envtest'%s", command.HelpHint(cmd)))
		}
		return setup(args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
	})
	return cmd
}

// setup makes the directory and its links.
func setup(dir string, stdout, stderr io.Writer) error {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return fmt.Errorf("this program cannot be found: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // programs are no secret
		return err
	}
	links := map[string]string{APIServer: program, Etcd: program}
	kubectl, err := exec.LookPath("kubectl")
	if err == nil {
		if kubectl, err = filepath.Abs(kubectl); err != nil {
			return err
		}
		links["kubectl"] = kubectl
	} else {
		_, _ = fmt.Fprintln(stderr, "kubectl is not in PATH: tests that call it need one in", dir) // a hint
	}
	for name, target := range links {
		if err := link(target, filepath.Join(dir, executable(name))); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(stdout, "export KUBEBUILDER_ASSETS='%s'\n", dir)
	return err
}

// link makes a link, and replaces an older one.
func link(target, name string) error {
	if target == name {
		return nil
	}
	switch info, err := os.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink == 0:
		return fmt.Errorf("%s is no link, so it stays: choose another directory, or remove it", name)
	default:
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return os.Symlink(target, name)
}

// executable is the file of a program on this system.
func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}
