package main

import (
	"bytes"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"revtail/cmd/revtail/command"
)

// goWords are words of Go and its libraries that say nothing to a user.
var goWords = regexp.MustCompile(`strconv\.|ParseInt|ParseBool|ParseFloat|<nil>|slog:|time: (invalid|missing|unknown)|invalid argument|cannot unmarshal|json: (cannot|unknown|unsupported|invalid)|yaml: |error converting|%!|unexpected EOF|parse error|invalid syntax`)

// callable are command lines that a wrong value of a flag is added to: without the flag each would be correct, but reach no gateway.
var callable = map[string][]string{
	"serve": {"--print-config", "--audit-log-path=a", "--otlp-endpoint=http://127.0.0.1:1"}, "get": {"configmaps"}, "watch": {"configmaps"},
	"token": {"--file=tokens.yaml", "--user=a"},
}

// wrongTexts are wrong values of flags that take a text. A flag that is not here takes any text, or the name of a file.
var wrongTexts = map[string]string{
	"output": "wrong", "color": "wrong", "log-format": "wrong", "audit-level": "wrong", "otlp-protocol": "wrong", "sort-by": "{", "raw": "wrong",
	"server": "wrong", "url": "wrong", "listen": "wrong", "admin-listen": "wrong", "etcd-endpoints": "wrong", "etcd-prefix": "wrong", "oidc-issuer-url": "wrong",
	"otlp-endpoint": "wrong", "cors-allowed-origins": "wrong", "allowed-hosts": "wrong:1", "kubeconfig": "absent", "cacert": "absent",
	"config": "absent", "context": "absent",
}

// TestFlags gives a wrong value to each flag of each command. The error must have the flag and what it wants, in no words of Go.
func TestFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("KUBECONFIG", "absent")
	seen := map[string]bool{}
	eachCommand(newRootCommand(), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			wrong, known := wrongTexts[flag.Name]
			typed := flag.Value.Type() != "string" && flag.Value.Type() != "stringSlice" && flag.Value.Type() != "stringArray" && flag.Value.Type() != "value"
			switch {
			case flag.Name == "help":
				return
			case typed:
				wrong = "wrong"
			case !known && flag.Value.Type() != "value":
				return
			case !known:
				wrong = "wrong"
			}
			seen[flag.Name] = true
			path := strings.TrimPrefix(cmd.CommandPath(), "revtail ")
			args := slices.Concat(strings.Fields(path), callable[path], []string{"--" + flag.Name + "=" + wrong})
			if flag.Name != "server" && cmd.Flags().Lookup("server") != nil {
				args = append(args, "--server=http://127.0.0.1:1")
			}
			if path == "doctor" && flag.Name != "etcd-endpoints" {
				args = append(args, "--etcd-endpoints=wrong") // it would wait for etcd otherwise
			}
			code, said := execute(t, args)
			if found := goWords.FindString(said); found != "" {
				t.Errorf("%q says %q:\n%s", args, found, said)
			}
			if (typed || known && callable[path] != nil) && (code != command.ExitUsage || !strings.Contains(said, "--"+flag.Name) || !strings.Contains(said, "want ") && wrong != "absent") {
				t.Errorf("%q exits with %d, want %d, --%s and what it wants:\n%s", args, code, command.ExitUsage, flag.Name, said)
			}
		})
	})
	for _, name := range slices.Sorted(maps.Keys(wrongTexts)) {
		if !seen[name] {
			t.Errorf("no command has the flag --%s", name)
		}
	}
}

// TestHelp checks that each command has an example and a group, and that its help has no words of Go.
func TestHelp(t *testing.T) {
	root := newRootCommand()
	eachCommand(root, func(cmd *cobra.Command) {
		if cmd.Parent() == root && !cmd.Hidden && cmd.GroupID == "" && cmd.Name() != "help" && cmd.Name() != "completion" {
			t.Errorf("%s has no group", cmd.CommandPath())
		}
		if !cmd.HasSubCommands() && cmd.Example == "" && cmd.Parent().Name() != "completion" && cmd.Name() != "help" && cmd.Name() != "completion" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		_, said := execute(t, append(strings.Fields(cmd.CommandPath())[1:], "--help"))
		if found := goWords.FindString(said); found != "" || strings.Contains(said, "(default [") {
			t.Errorf("the help of %s says %q:\n%s", cmd.CommandPath(), found, said)
		}
	})
}

func eachCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		eachCommand(c, visit)
	}
}

// execute runs a command line. It returns the exit code, and what is written to stderr, or to stdout if that is nothing.
func execute(t *testing.T, args []string) (code int, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code = run(ctx, newRootCommand(), args, &stdout, &stderr)
	if stderr.Len() == 0 {
		return code, stdout.String()
	}
	return code, stderr.String()
}
