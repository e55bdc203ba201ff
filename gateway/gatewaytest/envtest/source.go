package envtest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// copied is the file in a copy that names what it is a copy of.
const copied = ".module"

// source copies the modules of a suite into a folder, unless they are there, and returns the folder. Tests write beside their files, and
// the cache of modules is read-only.
func (s suite) source(t *testing.T, parent string) string {
	t.Helper()
	dir := filepath.Join(parent, s.name)
	if have, err := os.ReadFile(filepath.Join(dir, copied)); err == nil && string(have) == s.module {
		return dir
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	copyModule(t, s.module, dir)
	for folder, module := range s.nested {
		copyModule(t, module, filepath.Join(dir, folder))
	}
	if err := os.WriteFile(filepath.Join(dir, copied), []byte(s.module), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// copyModule copies a module. The scripts of its tests may be executed, which the archive of a module does not say.
func copyModule(t *testing.T, module, to string) {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	download.Dir = t.TempDir() // outside of this module, whose go.mod does not have it
	output, err := download.Output()
	var found struct{ Dir, Error string }
	if err := errors.Join(err, json.Unmarshal(output, &found)); err != nil {
		t.Fatalf("%s: %v %s", module, err, found.Error)
	}
	from := os.DirFS(found.Dir)
	err = fs.WalkDir(from, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		mode := os.FileMode(0o600)
		if strings.HasSuffix(path, ".sh") {
			mode = 0o700
		}
		content, err := fs.ReadFile(from, path)
		target := filepath.Join(to, path)
		return errors.Join(err, os.MkdirAll(filepath.Dir(target), 0o700), os.WriteFile(target, content, mode))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// link makes a link to a program.
func link(t *testing.T, program, dir, name string) {
	t.Helper()
	if err := os.Symlink(program, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// setUp makes the folder of revtail as a user does.
func setUp(t *testing.T, dir string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), gatewaytest.Binary(t), "envtest", "setup", dir)
	command.Env = append(os.Environ(), "PATH="+filepath.Dir(gatewaytest.Tool(t, "kubectl"))+string(os.PathListSeparator)+os.Getenv("PATH"))
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("envtest setup: %v: %s", err, output)
	}
}
