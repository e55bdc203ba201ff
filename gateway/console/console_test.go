package console

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func ask(t *testing.T, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Handler(http.NotFoundHandler()).ServeHTTP(w, r)
	return w.Result()
}

// readFiles returns the files of the page by their names.
func readFiles(t *testing.T) map[string]string {
	t.Helper()
	entries, err := static.ReadDir("static")
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for _, entry := range entries {
		content, err := static.ReadFile("static/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(content)
	}
	return files
}

// TestHandler checks that each file has a type, a policy and an ETag for revalidation.
func TestHandler(t *testing.T) {
	names := []string{""}
	for name := range readFiles(t) {
		names = append(names, name)
	}
	for _, name := range names {
		resp := ask(t, Path+name)
		content, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK || len(content) == 0 {
			t.Fatalf("%q: %v %s", name, err, resp.Status)
		}
		h := resp.Header
		if !strings.HasSuffix(h.Get("Content-Type"), "; charset=utf-8") || h.Get("Cache-Control") != "no-cache" ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%q: %v", name, h)
		}
		csp := h.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'; ") || strings.Contains(csp, "unsafe") {
			t.Errorf("%q: the policy is %q", name, csp)
		}
		if again := ask(t, Path+name, "If-None-Match", h.Get("ETag")); again.StatusCode != http.StatusNotModified {
			t.Errorf("%q: revalidated: %s", name, again.Status)
		}
	}
	for _, name := range []string{"nothing", "static", "index.html/", "../console.go"} {
		if resp := ask(t, Path+name); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%q: %s", name, resp.Status)
		}
	}
}

// TestIcon checks that the icon is served where browsers look for it.
func TestIcon(t *testing.T) {
	w := httptest.NewRecorder()
	Icon(w, httptest.NewRequest(http.MethodGet, IconPath, nil))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "image/svg+xml; charset=utf-8" || w.Body.Len() == 0 {
		t.Errorf("%d, %v", w.Code, w.Header())
	}
}

// TestFilesMakeNoMarkupOfData checks that no file makes markup of text or needs what the policy forbids, and that another file names each file.
func TestFilesMakeNoMarkupOfData(t *testing.T) {
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|createContextualFragment|setHTML|srcdoc|https?://[^w]`)
	inline := regexp.MustCompile(`(?i)<script(>|[^>]*>[^<])|<style|\sstyle=|\son[a-z]+=`)
	named := regexp.MustCompile(`(?:src|href)="([^"]+)"|from '\./([^']+)'|new URL\('([^']+\.js)'`)
	files := readFiles(t)
	missing := map[string]bool{}
	for name := range files {
		missing[name] = name != "index.html" && name != "revtail.d.ts" // which programs for TypeScript find by its name
	}
	for name, f := range files {
		if found := forbidden.FindString(f); found != "" {
			t.Errorf("%s has %q", name, found)
		}
		if found := inline.FindString(f); found != "" && strings.HasSuffix(name, ".html") {
			t.Errorf("%s has %q, which the policy forbids", name, found)
		}
		for _, match := range named.FindAllStringSubmatch(f, -1) {
			if other := match[1] + match[2] + match[3]; files[other] == "" {
				t.Errorf("%s names %s, which does not exist", name, other)
			} else {
				missing[other] = false
			}
		}
	}
	for name, unnamed := range missing {
		if unnamed {
			t.Errorf("no file names %s", name)
		}
	}
}
