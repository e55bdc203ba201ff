package conformance

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

var encodings = []statement{
	{"an object is one compact line of JSON that ends with a newline", compactJSON},
	{"pretty=true or 1 indents", prettyJSON},
	{"a browser or curl gets indented JSON, a watch never is", prettyAgents},
	{"application/yaml gives an object as YAML", yamlObject},
	{"application/yaml gives a list as YAML", yamlList},
	{"application/yaml gives an error as YAML", yamlError},
	{"application/yaml for a watch is 406", yamlWatch},
	{"a long answer is compressed for a client that accepts gzip", gzipLong},
	{"a compressed answer is the same JSON", gzipSame},
	{"an answer below 128 KiB is not compressed", gzipShort},
	{"gzip;q=0, deflate or no Accept-Encoding mean no compression", gzipRefused},
}

func compactJSON(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, path := range []string{w.path(""), w.named("w-a", ""), w.named("nope", "")} {
		a := c.get(path)
		c.equal("newlines", strings.Count(a.body, "\n"), 1)
		if !strings.HasSuffix(a.body, "}\n") {
			c.Errorf("%s ends with %q", path, a.body[max(0, len(a.body)-3):])
		}
	}
}

func prettyJSON(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, pretty := range []string{"?pretty=true", "?pretty=1"} {
		for _, path := range []string{w.path(pretty), w.named("w-a", pretty), w.named("nope", pretty)} {
			a := c.get(path)
			if !strings.HasPrefix(a.body, "{\n  \"") {
				c.Errorf("%s: %.100s", path, a.body)
			}
			a.json()
		}
	}
	if a := c.get(w.path("?pretty=false")); strings.HasPrefix(a.body, "{\n") {
		c.Errorf("pretty=false: %.100s", a.body)
	}
}

func prettyAgents(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, agent := range []string{"curl/8.5.0", "Wget/1.21", "Mozilla/5.0 (X11; Linux x86_64)"} {
		if a := c.get(w.named("w-a", ""), "User-Agent", agent); !strings.HasPrefix(a.body, "{\n  \"") {
			c.Errorf("%s: %.100s", agent, a.body)
		}
		c.equal("event", c.stream(w.path("?watch=1&pretty=true"), "User-Agent", agent).next(), "ADDED w-a")
	}
}

// wantYAML requires a body that is YAML, and not JSON, which would be YAML as well.
func (c *check) wantYAML(a answer, code int) object {
	c.t.Helper()
	c.equal("code", a.code, code)
	c.equal("Content-Type", a.header.Get("Content-Type"), "application/yaml")
	var out object
	if err := yaml.Unmarshal([]byte(a.body), &out); err != nil || strings.HasPrefix(a.body, "{") {
		c.Fatalf("%v: %.400s", err, a.body)
	}
	return out
}

func yamlObject(c *check) {
	w := c.simple()
	made := w.create("w-a", "true", nil)
	got := c.wantYAML(c.get(w.named("w-a", ""), "Accept", "application/yaml"), http.StatusOK)
	text, err := json.Marshal(got)
	if err != nil {
		c.Fatalf("%v", err)
	}
	same, err := parseObject(string(text))
	if err != nil {
		c.Fatalf("%v", err)
	}
	c.equal("object", same, made)
}

func yamlList(c *check) {
	w := c.simple()
	w.five()
	got := c.wantYAML(c.get(w.path(""), "Accept", "application/yaml"), http.StatusOK)
	c.equal("names", names(got), []string{"w-a", "w-b", "w-c", "w-d", "w-e"})
}

func yamlError(c *check) {
	got := c.wantYAML(c.get(c.simple().named("nope", ""), "Accept", "application/yaml"), http.StatusNotFound)
	c.wantStatus(got, http.StatusNotFound, "NotFound")
}

func yamlWatch(c *check) {
	c.equal("code", c.get(c.simple().path("?watch=1&timeoutSeconds=1"), "Accept", "application/yaml").code, http.StatusNotAcceptable)
}

// long fills a collection with more than 128 KiB of JSON.
func (w collection) long() {
	w.c.t.Helper()
	for i := range 3 {
		w.post(w.object(fmt.Sprintf("long-%d", i), "red", nil).with("metadata.annotations", object{"long": strings.Repeat("x", 64<<10)}), "").
			ok(http.StatusCreated)
	}
}

func gzipLong(c *check) {
	w := c.simple()
	w.long()
	a := c.get(w.path(""), "Accept-Encoding", "gzip")
	c.equal("Content-Encoding", a.header.Get("Content-Encoding"), "gzip")
	if !slices.ContainsFunc(a.header.Values("Vary"), func(v string) bool { return strings.Contains(v, "Accept-Encoding") }) {
		c.Errorf("Vary: %v", a.header.Values("Vary"))
	}
	c.equal("code", a.code, http.StatusOK)
}

func gzipSame(c *check) {
	w := c.simple()
	w.long()
	for _, path := range []string{w.path(""), w.path("?pretty=true"), w.path("?resourceVersion=0")} {
		c.eventually("a long list at "+path, func() bool { return len(names(c.get(path).ok(http.StatusOK))) == 3 })
		plain, packed := c.get(path), c.get(path, "Accept-Encoding", "gzip")
		reader, err := gzip.NewReader(strings.NewReader(packed.body))
		if err != nil {
			c.Fatalf("%s: %v", path, err)
		}
		unpacked, err := io.ReadAll(reader)
		if err != nil {
			c.Fatalf("%s: %v", path, err)
		}
		c.equal("items", (answer{c: c, body: string(unpacked)}).json().at("items"), plain.json().at("items"))
	}
}

func gzipShort(c *check) {
	w := c.simple()
	w.five()
	a := c.get(w.path(""), "Accept-Encoding", "gzip")
	c.equal("Content-Encoding", a.header.Get("Content-Encoding"), "")
	a.ok(http.StatusOK)
}

func gzipRefused(c *check) {
	w := c.simple()
	w.long()
	for _, accept := range []string{"gzip;q=0", "deflate", "identity"} {
		a := c.get(w.path(""), "Accept-Encoding", accept)
		c.equal("Content-Encoding for "+accept, a.header.Get("Content-Encoding"), "")
		a.ok(http.StatusOK)
	}
	c.get(w.path("")).ok(http.StatusOK)
}
