package conformance

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// transport is shared by all checks; it neither follows redirects nor decompresses.
var transport = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 32}

// answer is a response with its whole body.
type answer struct {
	c      *check
	code   int
	header http.Header
	body   string
}

// send sends a request whose body is nil, text or a value that is encoded as JSON. Headers are given in pairs; an empty value removes a
// header that net/http would send. The caller closes the body.
func (c *check) send(method, path string, body any, header ...string) *http.Response {
	c.t.Helper()
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			c.Fatalf("%v", err)
		}
		content = strings.NewReader(string(text))
	}
	request, err := http.NewRequestWithContext(c.ctx, method, c.server.base+path, content)
	if err != nil {
		c.Fatalf("%v", err)
	}
	if _, isText := body.(string); body != nil && !isText {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("User-Agent", "conformance/1")
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	return response
}

// do sends a request and reads the response.
func (c *check) do(method, path string, body any, header ...string) answer {
	c.t.Helper()
	response := c.send(method, path, body, header...)
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		c.Fatalf("%s %s: the body of the answer: %v", method, path, err)
	}
	return answer{c, response.StatusCode, response.Header, string(read)}
}

func (c *check) get(path string, header ...string) answer {
	c.t.Helper()
	return c.do(http.MethodGet, path, nil, header...)
}

// ok requires a code and a JSON object.
func (a answer) ok(code int) object {
	a.c.t.Helper()
	if a.code != code {
		a.c.Fatalf("code %d, want %d: %.400s", a.code, code, a.body)
	}
	return a.json()
}

func (a answer) json() object {
	a.c.t.Helper()
	out, err := parseObject(a.body)
	if err != nil {
		a.c.Fatalf("not a JSON object (%v): %.400s", err, a.body)
	}
	return out
}

// refusal is the Status of a refused request.
type refusal struct {
	object
	c *check
}

// refused requires a complete Status with a code and a reason.
func (a answer) refused(code int, reason string) refusal {
	a.c.t.Helper()
	if a.code != code {
		a.c.Fatalf("code %d, want %d %s: %.400s", a.code, code, reason, a.body)
	}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		a.c.Errorf("Content-Type of the Status: %s", got)
	}
	status := a.json()
	a.c.wantStatus(status, code, reason)
	return refusal{status, a.c}
}

func (c *check) wantStatus(status object, code int, reason string) {
	c.t.Helper()
	got := []string{status.text("kind"), status.text("apiVersion"), status.text("status"), status.text("reason"), status.text("code")}
	want := []any{"Status", "v1", "Failure", reason, code}
	c.equal("kind, apiVersion, status, reason and code of "+status.text("message"), got, want)
}

// cause requires one cause in the details.
func (r refusal) cause(field, kind string) refusal {
	r.c.t.Helper()
	for _, cause := range r.list("details.causes") {
		if cause.text("field") == field && cause.text("reason") == kind {
			return r
		}
	}
	r.c.Errorf("no cause %s of %s among %v", kind, field, r.at("details.causes"))
	return r
}

// saying requires a text in the message.
func (r refusal) saying(text string) refusal {
	r.c.t.Helper()
	if !strings.Contains(r.text("message"), text) {
		r.c.Errorf("message %q does not contain %q", r.text("message"), text)
	}
	return r
}

// about requires the details that name an object.
func (r refusal) about(name, group, kind string) {
	r.c.t.Helper()
	got := []string{r.text("details.name"), r.text("details.group"), r.text("details.kind")}
	r.c.equal("details", got, []string{name, group, kind})
}

// query adds pairs of names and values to the query of a URL.
func query(pairs ...string) string {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return "?" + values.Encode()
}

// readAll reads the body of a response and closes it.
func readAll(response *http.Response) (string, error) {
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}
