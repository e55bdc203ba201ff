// Package console serves the page at /ui/: keys and resources, live and in the past. It is plain HTML, CSS and JavaScript modules, embedded
// in the program without a build step. The page gets its data from the gateway, as any client does.
package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"
)

// Path is the path of the page, and IconPath that of the icon which browsers request for every page without an icon of its own.
const (
	Path     = "/ui/"
	IconPath = "/favicon.ico"
)

//go:embed static
var static embed.FS

// policy is the Content-Security-Policy (CSP Level 3). The page loads, runs and contacts only this server. Trusted Types prevent its scripts
// from turning text into markup. The one policy that they allow makes the URL of worker.js, because the constructor of a worker needs one;
// shared.js creates it, and no other policy of its name can be created.
const policy = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types revtail-worker"

// Handler serves GET and HEAD below Path, and calls missing for an unknown file. The files need no authentication, because they have no
// secrets and no stored data.
func Handler(missing http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, Path)
		if name == "" {
			name = "index.html"
		}
		serveFile(w, r, name, missing)
	})
}

// Icon serves the icon at IconPath.
func Icon(w http.ResponseWriter, r *http.Request) {
	serveFile(w, r, "icon.svg", http.NotFoundHandler())
}

func serveFile(w http.ResponseWriter, r *http.Request, name string, missing http.Handler) {
	content, err := static.ReadFile("static/" + name)
	if err != nil {
		missing.ServeHTTP(w, r)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache") // revalidate, because another version of the program has another page
	h.Set("Content-Security-Policy", policy)
	h.Set("Content-Type", types[path.Ext(name)])
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(content)))
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// types are the media types of the files. Those of package mime depend on the machine.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml; charset=utf-8",
	".ts": "application/typescript; charset=utf-8",
}
