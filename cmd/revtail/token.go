package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/gateway/access/authentication"
)

func newTokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make a token for a user, and add its digest to a --token-file",
		Long: `Make a token of 256 random bits for a user, and print it: this is the only time that it can be seen. The file, which
is made where there is none, gets its SHA-256 digest and whose it is. A gateway that runs with this file accepts the token
within seconds:

  revtail token --file tokens.yaml --user alice --group developers
  curl -H "Authorization: Bearer $TOKEN" …

To take a token back, remove its entry from the file: watches that were opened with it end within seconds. For a token from
elsewhere, which should have 128 random bits or more, write the entry by hand:
  printf %s "$TOKEN" | sha256sum`,
	}
	t := tokenMaker{}
	cmd.Flags().StringVar(&t.file, "file", "", "`file` to add the token to")
	cmd.Flags().StringVar(&t.entry.User, "user", "", "`name` of the user")
	cmd.Flags().StringArrayVar(&t.entry.Groups, "group", nil, "`name` of a group that the user is in; may be repeated")
	cmd.Flags().DurationVar(&t.life, "expires", 0, "how long the token is good; 0: for ever")
	cmd.RunE = command.NoArgs(func(cmd *cobra.Command) error {
		if t.file == "" || t.entry.User == "" || t.life < 0 {
			return command.UsageError(errors.New("want --file and --user, and no --expires of the past" + command.HelpHint(cmd)))
		}
		return t.run(cmd.OutOrStdout())
	})
	return cmd
}

// tokenMaker makes one token.
type tokenMaker struct {
	file  string
	entry authentication.TokenEntry
	life  time.Duration
}

func (t tokenMaker) run(stdout io.Writer) error {
	if t.life > 0 {
		expires := time.Now().Add(t.life).UTC().Truncate(time.Second)
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
		return fmt.Errorf("--file: %w", err)
	}
	_, err = fmt.Fprintln(stdout, token)
	return err
}

// replaceFile writes a file whole or not at all. It keeps the owner, the group and the permissions of the one before, by which a
// gateway may read it; a new one is its owner's.
func replaceFile(name string, content []byte) error {
	mode, keep := os.FileMode(0o600), func(*os.File) error { return nil }
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if info, err := os.Stat(name); err == nil {
		mode, keep = info.Mode().Perm(), func(next *os.File) error { return giveTo(next, info) }
	}
	next, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = next.Write(content)
	err = errors.Join(err, keep(next), next.Chmod(mode), next.Sync(), next.Close())
	if err == nil {
		err = os.Rename(next.Name(), name)
	}
	if err != nil {
		_ = os.Remove(next.Name()) // half of a file is of no use
	}
	return err
}
