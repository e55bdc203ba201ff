package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
	"revtail/etcdstore/snapshot"
)

func newStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status FILE",
		Short: "Verify a snapshot, and show what it contains",
		Long: `Verify the checksum and the structure of a snapshot, and show its revision, its keys, whose data it is, and the number of keys of each
resource. HASH, REVISION, TOTAL KEYS and TOTAL SIZE are those of 'etcdutl snapshot status'.`,
		Example: `  revtail snapshot status backup.db
  revtail snapshot status backup.db -o json | jq .revision`,
	}
	output := cmd.Flags().StringP("output", "o", "table", "`format`: table, json or yaml")
	completion.Values(cmd, "output", "table", "json", "yaml")
	skip := skipFlag(cmd)
	cmd.RunE = withFile(func(cmd *cobra.Command, file string) error {
		write, ok := map[string]func(io.Writer, snapshot.Status) error{"table": writeTable, "json": writeJSON, "yaml": writeYAML}[*output]
		if !ok {
			return command.UsageError(fmt.Errorf("--output %q: want table, json or yaml", *output))
		}
		status, err := snapshot.Inspect(cmd.Context(), file, snapshot.Check(!*skip))
		if err != nil {
			return explain(err)
		}
		return write(cmd.OutOrStdout(), status)
	})
	return cmd
}

// skipFlag adds --skip-hash-check.
func skipFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("skip-hash-check", false, "accept a file without a checksum: a database that was copied from the data directory of a stopped etcd, member/snap/db")
}

// explain adds the flag to change to an error of a snapshot.
func explain(err error) error {
	if errors.Is(err, snapshot.ErrNoChecksum) {
		return fmt.Errorf("%w (--skip-hash-check accepts such a copy)", err)
	}
	return err
}

func writeJSON(w io.Writer, status snapshot.Status) error {
	text, err := json.MarshalIndent(status, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", text)
	}
	return err
}

func writeYAML(w io.Writer, status snapshot.Status) error {
	text, err := yaml.Marshal(status)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

func writeTable(w io.Writer, status snapshot.Status) error {
	out := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	version := status.Version
	if version == "" {
		version = "not recorded"
	}
	_, _ = fmt.Fprintf(out, "HASH\t%x\nREVISION\t%d\nTOTAL KEYS\t%d\nTOTAL SIZE\t%s\nETCD VERSION\t%s\nDATA OF\t%s\n",
		status.Hash, status.Revision, status.TotalKeys, size(status.TotalSize), version, ownersOf(status))
	if len(status.Resources) > 0 {
		_, _ = fmt.Fprint(out, "\nRESOURCE\tKEYS\tSIZE\n")
	}
	for _, r := range status.Resources {
		_, _ = fmt.Fprintf(out, "%s\t%d\t%s\n", printable(r.Resource), r.Keys, size(r.Bytes))
	}
	return out.Flush()
}

func ownersOf(status snapshot.Status) string {
	var names []string
	for _, o := range status.Owners {
		if o.Prefix != "" {
			names = append(names, o.Name+" (below "+printable(o.Prefix)+")")
		} else {
			names = append(names, o.Name+" (key "+printable(o.Key)+")")
		}
	}
	if len(names) == 0 {
		return "unknown: neither revtail nor a kube-apiserver has marked it"
	}
	return strings.Join(names, ", ")
}

// printable quotes a key that has control characters, which would change the terminal.
func printable(key string) string {
	if quoted := fmt.Sprintf("%q", key); quoted != `"`+key+`"` {
		return quoted
	}
	return key
}
