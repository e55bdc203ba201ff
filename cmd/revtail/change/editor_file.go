package change

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"
)

// editorFile is the file that the editor of the user changes.
type editorFile struct {
	name string // of the object
	path string // empty: there is no file yet
	keep bool   // after the command: it has work of the user
}

// saved is what the user has saved.
type saved struct {
	text    []byte // without the heading
	changed bool   // the file, since the editor was opened
	isEmpty bool
}

// open writes a heading and a text into the file, and opens the editor.
func (f *editorFile) open(cmd *cobra.Command, heading string, text []byte) (out saved, err error) {
	if f.path == "" {
		folder, failed := os.MkdirTemp("", "revtail-edit-")
		if failed != nil {
			return out, failed
		}
		f.path = filepath.Join(folder, f.name+".yaml")
	}
	content := append([]byte(heading), text...)
	if err := os.WriteFile(f.path, content, 0o600); err != nil {
		return out, err
	}
	if err := runEditor(cmd, f.path); err != nil {
		if f.keep {
			err = fmt.Errorf("%w\nYour text is in %s", err, f.path)
		}
		return out, err
	}
	after, err := os.ReadFile(f.path)
	if err != nil {
		return out, err
	}
	out.changed = !bytes.Equal(content, after)
	out.text = withoutHeading(after)
	out.isEmpty = len(bytes.TrimSpace(out.text)) == 0
	return out, nil
}

// withoutHeading leaves out the comments at the beginning.
func withoutHeading(content []byte) []byte {
	for bytes.HasPrefix(content, []byte("#")) {
		_, rest, found := bytes.Cut(content, []byte("\n"))
		if !found {
			return nil
		}
		content = rest
	}
	return content
}

// remove removes the file, unless it has work of the user.
func (f *editorFile) remove() {
	if f.path != "" && !f.keep {
		_ = os.RemoveAll(filepath.Dir(f.path)) // the system removes temporary files
	}
}

// runEditor runs the editor of the user, which has the terminal until it ends: SIGINT is for the editor.
func runEditor(cmd *cobra.Command, path string) error {
	editor := cmp.Or(os.Getenv("REVTAIL_EDITOR"), os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi")
	child := exec.CommandContext(context.WithoutCancel(cmd.Context()), "sh", "-c", editor+` "$1"`, "sh", path)
	child.Stdin, child.Stdout, child.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	err := child.Run()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return fmt.Errorf("the editor %q failed (%w): nothing is written; REVTAIL_EDITOR, VISUAL or EDITOR names another one, as EDITOR=vi", editor, err)
	}
	return err
}
