package plain

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"revtail/etcdstore"
)

// MaxItems is how many keys an answer has at most, and has where no limit is given.
const MaxItems = 10_000

// Query is what the query of a URL asks for. All methods have one: parameters that mean nothing to a method are refused.
type Query struct {
	Keys Range

	// of a list
	Limit       int
	After       string // the last key of the page before
	At          etcdstore.Revision
	KeysOnly    bool
	Count       bool // only how many
	Level       bool // depth=1: the next level only
	MinRevision etcdstore.Revision

	// of a watch
	Watch bool
	Since etcdstore.Revision // zero: from the state on
	Prev  bool
	Wait  time.Duration // a long poll that lasts so long; zero: a stream

	// of a write
	TTL    time.Duration
	Prefix bool
}

// The parameters that each kind of request takes, beside those that name the key.
var (
	ofRead  = []string{"limit", "continue", "at", "keysOnly", "count", "depth", "minRevision", "watch", "pretty"}
	ofWatch = []string{"watch", "since", "prev", "wait", "lastEventId"}
	ofWrite = map[string][]string{"PUT": {"ttl", "pretty"}, "DELETE": {"prefix", "pretty"}}
)

// elsewhere are parameters that are read by others: it is not an error to give them.
var elsewhere = []string{"key", "key64", "ticket"}

// ParseQuery reads the query of a request.
func ParseQuery(method, path string, values url.Values) (q Query, err error) {
	q.Watch = flag(values, "watch") || values.Has("wait")
	known, kind := ofRead, "a read"
	switch {
	case method != "GET":
		known, kind = ofWrite[method], method
	case q.Watch:
		known, kind = ofWatch, "a watch"
	}
	for name, given := range values {
		switch {
		case slices.Contains(elsewhere, name):
		case !slices.Contains(known, name):
			return q, fmt.Errorf("%s has no parameter %q: it takes %s", kind, name, strings.Join(known, ", "))
		case len(given) > 1:
			return q, fmt.Errorf("the parameter %s is given %d times", name, len(given))
		}
	}
	if q.Keys, err = Parse(path, values); err != nil {
		return q, err
	}
	p := parser{values: values}
	q.KeysOnly, q.Count, q.Prev, q.Prefix = flag(values, "keysOnly"), flag(values, "count"), flag(values, "prev"), flag(values, "prefix")
	q.At, q.Since, q.MinRevision = p.revision("at"), p.revision("since"), p.revision("minRevision")
	q.Wait, q.TTL = p.duration("wait"), p.duration("ttl")
	q.Limit = min(int(p.number("limit")), MaxItems)
	if depth := p.number("depth"); depth > 1 {
		p.refuse("depth", "want 1, the next level; without it all levels are shown")
	} else {
		q.Level = depth == 1
	}
	p.page(&q)
	return q, p.check(q)
}

// check finds what does not go together.
func (p *parser) check(q Query) error {
	switch {
	case p.err != nil:
		return p.err
	case q.Wait > 0 && q.Since == 0:
		return fmt.Errorf("wait needs since=REVISION: the revision of an answer that you have")
	case q.Level && !q.Keys.IsPrefix():
		return fmt.Errorf("depth is for a prefix, which ends with /: %q is one key", q.Keys)
	case q.Prefix && !q.Keys.IsPrefix():
		return fmt.Errorf("prefix=true is for a prefix, which ends with /: %q is one key", q.Keys)
	}
	return nil
}

// flag reads a boolean parameter: all but 0 and false is true, the empty value too.
func flag(values url.Values, name string) bool {
	given, ok := values[name]
	return ok && given[0] != "0" && !strings.EqualFold(given[0], "false")
}

// parser keeps the first thing that is wrong.
type parser struct {
	values url.Values
	err    error
}

func (p *parser) refuse(name, want string) {
	if p.err == nil {
		p.err = fmt.Errorf("%s=%.64q: %s", name, p.values.Get(name), want)
	}
}

// number reads a parameter that is a number greater than zero, if it is given.
func (p *parser) number(name string) int64 {
	text := p.values.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		p.refuse(name, "want a whole number greater than 0")
	}
	return n
}

func (p *parser) revision(name string) etcdstore.Revision {
	return etcdstore.Revision(p.number(name))
}

func (p *parser) duration(name string) time.Duration {
	text := p.values.Get(name)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		p.refuse(name, "want a time greater than 0, such as 30s or 5m")
	}
	return d
}

// page is where the next page begins. It can lead to no key that is not one of the range: a list has both ends of it.
type page struct {
	Revision etcdstore.Revision `json:"r"`
	After    []byte             `json:"a"`
}

// Continue is the token of the page after a key.
func Continue(at etcdstore.Revision, after string) string {
	text, err := json.Marshal(page{at, []byte(after)})
	if err != nil {
		panic(err) // cannot be: bytes and a number
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func (p *parser) page(q *Query) {
	token := p.values.Get("continue")
	if token == "" {
		return
	}
	var next page
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &next)
	}
	switch {
	case err != nil || next.Revision <= 0 || !q.Keys.Contains(string(next.After)):
		p.refuse("continue", "this is not the continue of an answer about the same keys")
	case q.At != 0 && q.At != next.Revision:
		p.refuse("continue", "it is of another revision than at")
	}
	q.At, q.After = next.Revision, string(next.After)
}
