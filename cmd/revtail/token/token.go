// Package token has the command token, which makes bearer tokens for a --token-file.
package token

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/gateway/access/authentication"
)

// NewCommand returns the command token.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "token",
		GroupID: command.GroupOperate,
		Short:   "Make a token for a user, and add its digest to a --token-file",
		Long: `Make a token of 256 random bits for a user, and print it. The command creates the file if there is none, and adds the user and
the SHA-256 digest of the token; nothing stores the token itself. A gateway that runs with this file accepts the token within
seconds.

To revoke a token, remove its entry from the file: watches that were opened with it end within seconds. For a token of another
source, which should have 128 random bits or more, write the entry by hand:
  printf %s "$TOKEN" | sha256sum`,
		Example: `  # a token of the user alice, who is in the group developers
  TOKEN=$(revtail token --file tokens.yaml --user alice --group developers)
  curl -H "Authorization: Bearer $TOKEN" https://gateway.example.com:8443/api/v1/configmaps

  # a token that ends after 30 days
  revtail token --file tokens.yaml --user ci --expires 720h`,
	}
	t := generator{}
	cmd.Flags().StringVar(&t.file, "file", "", "`file` to add the token to")
	cmd.Flags().StringVar(&t.entry.User, "user", "", "`name` of the user")
	cmd.Flags().StringArrayVar(&t.entry.Groups, "group", nil, "`name` of a group that the user is in; may be repeated")
	cmd.Flags().DurationVar(&t.lifetime, "expires", 0, "how long the token is valid; 0: without end")
	cmd.RunE = command.NoArgs(func(cmd *cobra.Command) error {
		if err := t.check(); err != nil {
			return command.UsageError(fmt.Errorf("%w%s", err, command.HelpHint(cmd)))
		}
		return t.run(cmd.OutOrStdout())
	})
	return cmd
}

// generator makes one token.
type generator struct {
	file     string
	entry    authentication.TokenEntry
	lifetime time.Duration
}

// check says which flag is missing or wrong.
func (t generator) check() error {
	const want = "want --file and --user, for example revtail token --file tokens.yaml --user alice"
	switch {
	case t.file == "" && t.entry.User == "":
		return errors.New("no --file and no --user is given: " + want)
	case t.file == "":
		return errors.New("no --file is given: " + want)
	case t.entry.User == "":
		return errors.New("no --user is given: " + want)
	case t.lifetime < 0:
		return fmt.Errorf("--expires %v: want a time from now on, as 720h, or 0 for a token without end", t.lifetime)
	case slices.Contains(t.entry.Groups, ""):
		return errors.New("--group \"\": want the name of a group, as developers")
	}
	return nil
}

func (t generator) run(stdout io.Writer) error {
	if t.lifetime > 0 {
		expires := time.Now().Add(t.lifetime).UTC().Truncate(time.Second)
		t.entry.Expires = &expires
	}
	content, err := os.ReadFile(t.file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("--file: %w", err)
	}
	token, entry := authentication.NewToken(t.entry)
	if content, err = authentication.AppendToken(content, entry); err != nil {
		return fmt.Errorf("--file %s: %w", t.file, err)
	}
	if err := replaceFile(t.file, content); err != nil {
		return fmt.Errorf("--file %s: %w", t.file, err)
	}
	_, err = fmt.Fprintln(stdout, token)
	return err
}

// replaceFile writes a file completely or not at all. It keeps the owner, group and mode of an existing file, because a gateway
// may depend on them to read it. A new file has mode 600.
func replaceFile(name string, content []byte) error {
	mode, keep := os.FileMode(0o600), func(*os.File) error { return nil }
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if info, err := os.Stat(name); err == nil {
		mode, keep = info.Mode().Perm(), func(next *os.File) error { return copyOwner(next, info) }
	}
	next, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if failed := (*os.PathError)(nil); errors.As(err, &failed) {
		return fmt.Errorf("cannot write into %s: %w", filepath.Dir(name), failed.Err)
	}
	if err != nil {
		return err
	}
	_, err = next.Write(content)
	err = errors.Join(err, keep(next), next.Chmod(mode), next.Sync(), next.Close())
	if err == nil {
		err = os.Rename(next.Name(), name)
	}
	if err != nil {
		_ = os.Remove(next.Name()) // an incomplete file is of no use
	}
	return err
}
