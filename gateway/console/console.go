// Package console serves the page at /ui/: keys and resources, live and in the past. It is plain HTML, CSS and JavaScript modules, embedded
// in the program without a build step. The page gets its data from the gateway, as any client does.
package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

// Path is the path of the page.
const Path = "/ui/"

//go:embed static
var static embed.FS

// policy is the Content-Security-Policy (CSP Level 3). The page loads, runs and contacts only this server. Trusted Types prevent its scripts
// from turning text into markup.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// file is a file of the page with its headers.
type file struct {
	contentType string
	etag        string
	content     []byte
}

// Handler serves GET and HEAD below Path, and calls missing for an unknown file. The files need no authentication, because they have no
// secrets and no stored data.
func Handler(missing http.Handler) http.Handler {
	files := readFiles()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, Path)
		if name == "" {
			name = "index.html"
		}
		f, ok := files[name]
		if !ok {
			missing.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Cache-Control", "no-cache") // revalidate, because another version of the program has another page
		h.Set("Content-Security-Policy", policy)
		h.Set("Content-Type", f.contentType)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("ETag", f.etag)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
	})
}

// types are the media types of the files. Those of package mime depend on the machine.
var types = map[string]string{".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

func readFiles() map[string]file {
	files := make(map[string]file)
	entries, err := static.ReadDir("static")
	if err != nil {
		panic(err) // the file is embedded
	}
	for _, entry := range entries {
		content, err := fs.ReadFile(static, "static/"+entry.Name())
		contentType, ok := types[path.Ext(entry.Name())]
		if err != nil || !ok {
			panic(fmt.Sprintf("console: %s: %v, of a type that is not known: %t", entry.Name(), err, !ok))
		}
		files[entry.Name()] = file{
			contentType: mime.FormatMediaType(contentType, map[string]string{"charset": "utf-8"}),
			etag:        fmt.Sprintf(`"%x"`, sha256.Sum256(content)),
			content:     content,
		}
	}
	return files
}
