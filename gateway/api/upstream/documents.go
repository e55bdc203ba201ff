package upstream

import (
	"bytes"
	"container/list"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"revtail/gateway/access"
	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
)

const (
	// maxDocument limits one kept document, as it was sent: the OpenAPI v2 document of a cluster with many custom resources has some MiB.
	maxDocument = 8 << 20
	// maxDocuments limits all kept documents.
	maxDocuments = 32 << 20
)

// documents keeps the last answers about versions, resources and schemas, for the time in which the kube-apiserver does not answer. The zero
// value is ready to use.
type documents struct {
	mu    sync.Mutex // guards the fields below
	byKey map[string]*list.Element
	used  list.List // of *document, the one that was used last first
	size  int
}

// document is an answer. It is immutable.
type document struct {
	key    string
	header http.Header
	body   []byte
	at     time.Time
	public bool // every authenticated user may read it
}

// keptHeaders are the headers of an answer that belong to its body.
var keptHeaders = []string{"Content-Type", "Content-Encoding", "Etag", "Last-Modified", "Vary", "X-Varied-Accept", "Cache-Control"}

// describes reports whether a request reads a document that is kept.
func describes(r *http.Request) bool {
	if r.Method != http.MethodGet || request.IsHead(r) {
		return false
	}
	path := r.URL.Path
	switch {
	case path == "/version", path == "/openapi/v2", path == "/openapi/v3", strings.HasPrefix(path, "/openapi/v3/"):
		return true
	case path == "/api", path == "/apis", strings.HasPrefix(path, "/api/"), strings.HasPrefix(path, "/apis/"):
		return access.InfoOf(r).Attributes.Resource == ""
	}
	return false
}

// keyOf is what an answer depends on.
func keyOf(r *http.Request) string {
	coding := ""
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		coding = "gzip"
	}
	return strings.Join([]string{r.URL.RequestURI(), strings.Join(r.Header.Values("Accept"), ","), coding}, "\n")
}

func (d *documents) get(key string) *document {
	d.mu.Lock()
	defer d.mu.Unlock()
	entry := d.byKey[key]
	if entry == nil {
		return nil
	}
	d.used.MoveToFront(entry)
	return entry.Value.(*document)
}

// put keeps a document, in the place of those that were not used for the longest time.
func (d *documents) put(doc *document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byKey == nil {
		d.byKey = make(map[string]*list.Element)
	}
	if earlier := d.byKey[doc.key]; earlier != nil {
		d.removeLocked(earlier)
	}
	d.byKey[doc.key] = d.used.PushFront(doc)
	d.size += doc.bytes()
	for d.size > maxDocuments {
		d.removeLocked(d.used.Back())
	}
}

func (d *documents) removeLocked(entry *list.Element) {
	doc := d.used.Remove(entry).(*document)
	delete(d.byKey, doc.key)
	d.size -= doc.bytes()
}

// bytes returns the memory of a document, with that of its headers.
func (doc *document) bytes() int { return len(doc.body) + len(doc.key) + 1<<10 }

// bodyCopy copies a body while the client reads it. The body is complete with the last byte that Content-Length promises, before its end is read:
// a client that has all bytes may leave, which ends the request.
type bodyCopy struct {
	io.ReadCloser
	length   int64 // of the body; -1: it is not known
	text     bytes.Buffer
	complete func(body []byte) // called once; nil: it was called, or the body is too large
}

func (c *bodyCopy) Read(into []byte) (int, error) {
	n, err := c.ReadCloser.Read(into)
	switch {
	case c.complete == nil:
	case c.text.Len()+n > maxDocument:
		c.complete, c.text = nil, bytes.Buffer{}
	default:
		c.text.Write(into[:n])
		if err == io.EOF || int64(c.text.Len()) == c.length {
			c.complete(c.text.Bytes())
			c.complete = nil
		}
	}
	return n, err
}

// startKeeping copies the answer, and keeps it when it is complete: before the client has its last bytes.
func (p *Proxy) startKeeping(e *exchange, answer *http.Response) {
	if e.upgrade || answer.StatusCode != http.StatusOK || !describes(e.request) {
		return
	}
	header := make(http.Header)
	for _, name := range keptHeaders {
		if values := answer.Header.Values(name); len(values) > 0 {
			header[name] = values
		}
	}
	answer.Body = &bodyCopy{ReadCloser: answer.Body, length: answer.ContentLength, complete: func(body []byte) { p.keep(e.request, header, body) }}
}

// everyone is any authenticated user, without rights of its own.
var everyone = &authentication.Identity{Groups: []string{authentication.AuthenticatedAll}}

// keep keeps the answer of a request. It asks the kube-apiserver now whether every authenticated user may read it, because the
// kube-apiserver cannot be asked later, when it is away.
func (p *Proxy) keep(r *http.Request, header http.Header, body []byte) {
	p.documents.put(&document{
		key: keyOf(r), header: header, body: body, at: time.Now(),
		public: p.authorize(everyone, authorization.Attributes{Verb: "get", Path: r.URL.Path}) == nil,
	})
}

// serveKept answers with a kept document, if there is one that the caller may read. A Warning says how old it is.
func (p *Proxy) serveKept(w http.ResponseWriter, r *http.Request) bool {
	if !describes(r) || access.Impersonates(r) {
		return false
	}
	doc := p.documents.get(keyOf(r))
	if doc == nil || !p.mayRead(access.CallerOf(r).Identity, r.URL.Path, doc) {
		return false
	}
	age := time.Since(doc.at).Round(time.Second)
	for name, values := range doc.header {
		w.Header()[name] = values
	}
	w.Header().Set("Age", strconv.Itoa(int(age.Seconds())))
	response.Warn(w, fmt.Sprintf("the kube-apiserver does not answer: %s is %v old", r.URL.Path, age))
	if tag := doc.header.Get("Etag"); tag != "" && r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(doc.body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(doc.body) // the client may have gone away
	return true
}

func (p *Proxy) mayRead(identity *authentication.Identity, path string, doc *document) bool {
	for _, group := range identity.Groups {
		if doc.public && group == authentication.AuthenticatedAll {
			return true
		}
	}
	return p.authorize(identity, authorization.Attributes{Verb: "get", Path: path}) == nil
}
