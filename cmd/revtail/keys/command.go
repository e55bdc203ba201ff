package keys

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
	"revtail/cmd/revtail/keys/keyapi"
)

// exitCodes is the last paragraph of the help of each command.
const exitCodes = `

Exit codes: 0 done, 1 refused or failed, 2 wrong command line.`

// NewCommand returns the command keys with its subcommands.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "keys",
		GroupID: command.GroupKeys,
		Short:   "Read, write and watch any key of etcd, with the rights of the gateway",
		Long: `Read, write and watch any key of etcd over HTTP, with the rights that the gateway gives.

A KEY that ends with / is a prefix: it stands for all keys that begin with it. Keys are written as etcdctl writes them, so
/app/theme and app/theme are two keys. With --base64 they are in base64, which can express any byte.` + exitCodes,
		Example: `  revtail keys ls /app/
  revtail keys get /app/config/theme
  revtail keys put /app/config/theme '{"colour":"red"}' --if-revision 7
  revtail keys watch /app/config/ /app/flags`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return command.UsageError(fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), command.HelpHint(cmd)))
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newGetCommand(), newListCommand(), newPutCommand(), newDeleteCommand(), newWatchCommand(), newTxnCommand())
	return cmd
}

// session is what the commands have in common: flags, and the client of the gateway.
type session struct {
	*keyapi.Client
	gateway client.Config
	base64  bool
	output  string
}

// addFlags defines the flags. outputs are the values of --output; the first one is the default if none is empty.
func (s *session) addFlags(cmd *cobra.Command, outputs ...string) {
	s.gateway.AddFlags(cmd.Flags())
	completion.Gateway(cmd, &s.gateway)
	if cmd.Flags().Lookup("color") != nil {
		completion.Values(cmd, "color", "auto", "always", "never")
	}
	cmd.Flags().SortFlags = false
	if len(outputs) > 0 {
		cmd.Flags().StringVarP(&s.output, "output", "o", outputs[0], "`format` of the output: "+strings.Join(slices.DeleteFunc(slices.Clone(outputs), isEmpty), ", "))
		completion.Values(cmd, "output", slices.DeleteFunc(slices.Clone(outputs), isEmpty)...)
	}
}

func isEmpty(text string) bool { return text == "" }

// addKeyFlags defines the flags of a command whose arguments are keys, and completes them.
func (s *session) addKeyFlags(cmd *cobra.Command, several bool) {
	cmd.Flags().BoolVar(&s.base64, "base64", false, "the KEYs of the command line are in base64, which can express any byte")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !several {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return s.complete(cmd, prefix)
	}
}

// connect makes the client, after a check of --output. The caller closes the client.
func (s *session) connect(cmd *cobra.Command, outputs ...string) error {
	if len(outputs) > 0 && !slices.Contains(outputs, s.output) {
		return usageError(cmd, "--output %q: want one of %s", s.output, strings.Join(slices.DeleteFunc(slices.Clone(outputs), isEmpty), ", "))
	}
	gateway, err := client.New(s.gateway)
	if err != nil {
		return command.UsageError(err)
	}
	s.Client = &keyapi.Client{Client: gateway}
	return nil
}

func usageError(cmd *cobra.Command, format string, a ...any) error {
	return command.UsageError(fmt.Errorf(format+command.HelpHint(cmd), a...))
}

// keys reads arguments.
func (s *session) keys(cmd *cobra.Command, args []string, example string) ([]string, error) {
	if len(args) == 0 {
		return nil, usageError(cmd, "no key is given: want, for example, %s %s", cmd.CommandPath(), example)
	}
	var out []string
	for _, arg := range args {
		key := arg
		if s.base64 {
			decoded, err := decodeBase64(arg)
			if err != nil {
				return nil, usageError(cmd, "%q: want base64, as L2FwcC94 for /app/x: %v", arg, err)
			}
			key = decoded
		}
		if key == "" {
			return nil, usageError(cmd, "the key is empty: want, for example, %s, or / for all keys that begin with a slash", example)
		}
		out = append(out, key)
	}
	return out, nil
}

func decodeBase64(text string) (string, error) {
	standard := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	key, err := base64.RawStdEncoding.DecodeString(standard)
	if err != nil {
		return "", errors.New(strings.TrimPrefix(err.Error(), "illegal "))
	}
	return string(key), nil
}

// checkAt checks --at, so that the error names the flag. Empty: now.
func checkAt(cmd *cobra.Command, at string) error {
	if at == "" {
		return nil
	}
	if revision, err := strconv.ParseInt(at, 10, 64); err == nil && revision > 0 {
		return nil
	}
	if ago, err := time.ParseDuration(at); err == nil && ago < 0 {
		return nil
	}
	if _, err := time.Parse(time.RFC3339, at); err == nil {
		return nil
	}
	return usageError(cmd, "--at %q: want a revision, a time ago or a time, as 4711, -10m or 2026-11-21T10:00:00Z", at)
}
