package manifest

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// urlTimeout bounds the time that a file of a URL takes.
	urlTimeout = time.Minute
	// maxSize bounds a file of a URL, and standard input.
	maxSize = 64 << 20
)

// Read reads files, folders, URLs, and standard input if a name is -. Recursive reads folders in folders too.
func Read(ctx context.Context, names []string, recursive bool, stdin io.Reader) ([]Document, error) {
	var out []Document
	for _, name := range names {
		files := []string{name}
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			if files, err = filesIn(name, recursive); err != nil {
				return nil, err
			}
		}
		for _, file := range files {
			source, content, err := readFile(ctx, file, stdin)
			if err != nil {
				return nil, err
			}
			documents, err := Parse(source, content)
			if err != nil {
				return nil, err
			}
			out = append(out, documents...)
		}
	}
	return out, nil
}

func readFile(ctx context.Context, name string, stdin io.Reader) (source string, content []byte, err error) {
	switch {
	case name == "-":
		content, err = readLimited("standard input", stdin)
		return "standard input", content, err
	case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
		content, err = readURL(ctx, name)
		return name, content, err
	}
	content, err = os.ReadFile(name)
	return name, content, err
}

func readLimited(source string, from io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(from, maxSize+1))
	if err == nil && len(content) > maxSize {
		err = fmt.Errorf("%s has more than %d MiB: want fewer objects at once", source, maxSize>>20)
	}
	return content, err
}

func readURL(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, urlTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := new(http.Client).Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	return readLimited(url, resp.Body)
}

// extensions are those of the files in a folder that have objects.
var extensions = []string{".yaml", ".yml", ".json"}

func filesIn(folder string, recursive bool) ([]string, error) {
	var out []string
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != folder && !recursive:
			return filepath.SkipDir
		case !entry.IsDir() && slices.Contains(extensions, filepath.Ext(name)):
			out = append(out, name)
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		hint := ""
		if !recursive {
			hint = "; -R reads the folders in it too"
		}
		err = fmt.Errorf("%s: the folder has no files that end with %s%s", folder, strings.Join(extensions, ", "), hint)
	}
	return out, err
}
