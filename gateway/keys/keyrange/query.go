package keyrange

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/config/suggest"
)

// maxItems is the limit of the keys in one answer, and the limit if the query gives none.
const maxItems = 10_000

// Query is a parsed request of /v1/keys. Parameters that a method does not have are refused.
type Query struct {
	All  Ranges // in order
	Keys Range  // the first of them, and the only one but for a watch

	// of a list and a watch
	Filter string // CEL expression; empty: all keys
	Fields string // paths in the values, separated by commas; empty: the whole value

	// of a list
	Limit       int
	After       string // the last key of the page before
	At          etcdstore.Revision
	AtTime      *Time // nil: the query names no time
	KeysOnly    bool
	Base64      bool // encoding=base64: every value in base64, byte for byte
	Count       bool // only the number of keys
	Level       bool // depth=1: the next level only
	MinRevision etcdstore.Revision

	// of a watch
	Watch  bool
	Since  etcdstore.Revision // zero: the watch begins with the state
	Prev   bool
	Latest bool          // slow=latest: pending events are coalesced to the newest of each key
	Wait   time.Duration // of a long poll; zero: a stream

	// of a write
	TTL    time.Duration
	Prefix bool
}

// Parameters are the names of the parameters by kind of request, without those in Elsewhere.
var Parameters = map[string][]string{
	"a read":  {"limit", "continue", "at", "keysOnly", "count", "depth", "minRevision", "watch", "pretty", "filter", "fields", "encoding"},
	"a watch": {"watch", "since", "prev", "wait", "slow", "lastEventId", "filter", "fields"},
	"PUT":     {"ttl", "pretty"},
	"DELETE":  {"prefix", "pretty"},
}

// kinds are the keys of Parameters, in the order in which meant looks for a parameter.
var kinds = []string{"a read", "a watch", "PUT", "DELETE"}

// Elsewhere are parameters of every request, which other code reads.
var Elsewhere = []string{"key", "key64", "ticket"}

// kindOf returns the key in Parameters of a request.
func kindOf(method string, watch bool) string {
	switch {
	case method != "GET":
		return method
	case watch:
		return "a watch"
	}
	return "a read"
}

// checkNames refuses unknown and repeated parameters.
func checkNames(kind string, values url.Values) error {
	known := Parameters[kind]
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case slices.Contains(Elsewhere, name):
		case slices.Contains(known, name):
			if n := len(values[name]); n > 1 && name != "fields" {
				return fmt.Errorf("the parameter %s is given %d times", name, n)
			}
		case kind == "a read" && slices.Contains(Parameters["a watch"], name):
			return fmt.Errorf("the parameter %s is for a watch: add watch to the query", name)
		case kind == "a watch" && slices.Contains(Parameters["a read"], name):
			return fmt.Errorf("the parameter %s is for a read, and the query asks for a watch", name)
		default:
			return fmt.Errorf("%s has no parameter %q%s: it takes %s", kind, name, meant(kind, name), strings.Join(known, ", "))
		}
	}
	return nil
}

// meant completes the message about an unknown parameter: with the kind of request that has it, or with a similar name.
func meant(kind, name string) string {
	for _, other := range kinds {
		if slices.Contains(Parameters[other], name) {
			return ", which is for " + other
		}
	}
	return suggest.DidYouMean(name, slices.Concat(Parameters[kind], Elsewhere))
}

// CheckTxn checks the query of a transaction.
func CheckTxn(values url.Values) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name != "pretty" {
			return fmt.Errorf("a transaction has no parameter %q: it takes pretty, and everything else in its body", name)
		}
	}
	p := parser{values: values}
	p.flag("pretty")
	return p.err
}

// ParseQuery reads the query of a request. An error leaves All set if the keys alone can be read.
func ParseQuery(method, path string, values url.Values) (q Query, err error) {
	p := parser{values: values}
	q.Filter, q.Fields = values.Get("filter"), strings.Join(values["fields"], ",")
	q.Watch = p.flag("watch") || values.Has("wait")
	keys, invalid := Parse(path, values)
	q.All = keys
	if err = checkNames(kindOf(method, q.Watch), values); err != nil {
		return q, err
	}
	if invalid != nil {
		return q, invalid
	}
	if n := len(values["key"]) + len(values["key64"]); n > 1 && !q.Watch {
		return q, fmt.Errorf("one key is needed, and the query has %d: only a watch takes several", n)
	}
	q.Keys = keys[0]
	p.flag("pretty") // only checked here
	q.KeysOnly, q.Count, q.Prev, q.Prefix = p.flag("keysOnly"), p.flag("count"), p.flag("prev"), p.flag("prefix")
	q.Since, q.MinRevision = p.revision("since"), p.revision("minRevision")
	q.Wait, q.TTL = p.duration("wait"), p.duration("ttl")
	q.Limit = int(min(cmp.Or(p.number("limit"), maxItems), maxItems))
	q.Latest, q.Level = p.keyword("slow", "latest", "without it a slow client is waited for"), p.keyword("depth", "1", "the next level; without it all levels are shown")
	q.Base64 = p.keyword("encoding", "base64", "which shows every value byte for byte; without it JSON is shown as JSON and other text as a string")
	p.at(&q)
	p.page(&q)
	return q, p.check(q)
}

// check refuses combinations that make no sense.
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
	case q.Level && q.Count:
		return fmt.Errorf("count is how many keys there are, and depth shows a level: leave one of them out")
	case q.Filter != "" && !q.Watch && !q.Keys.IsPrefix():
		return fmt.Errorf("filter is for a watch, or for a prefix, which ends with /: %q is one key", q.Keys)
	case q.Base64 && (q.Fields != "" || q.KeysOnly || q.Count || q.Level):
		return fmt.Errorf("encoding is about whole values, and fields, keysOnly, count and depth show none: leave one of them out")
	case q.Fields != "" && (q.KeysOnly || q.Count || q.Level):
		return fmt.Errorf("fields is about values, and keysOnly, count and depth show none: leave one of them out")
	}
	return nil
}

// page is where the next page begins. A token cannot lead out of the range, because a list always has both ends of the range.
type page struct {
	Revision etcdstore.Revision `json:"r"`
	After    []byte             `json:"a"`
}

// Continue returns the token of the page that begins after a key.
func Continue(at etcdstore.Revision, after string) string {
	text, err := json.Marshal(page{at, []byte(after)})
	if err != nil {
		panic(err) // bytes and a number can always be encoded
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
	q.At, q.AtTime, q.After = next.Revision, nil, string(next.After)
}
