package gateway

import (
	"math"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/etcdstore"
	"revtail/gateway/watchcache/filter"
	"revtail/gateway/watchcache/selector"
)

// listParams are the query parameters of a list or a watch. Unknown parameters are ignored; of a repeated one, the first
// counts.
type listParams struct {
	selector  *selector.Selector
	filter    *filter.Filter // nil: everything
	watch     bool
	bookmarks bool

	revision   etcdstore.Revision
	unset      bool // no resourceVersion was given: revision is zero, and so it is for resourceVersion=0
	exact      bool // resourceVersionMatch=Exact
	notOlder   bool // resourceVersionMatch=NotOlderThan
	state      bool // a watch that begins with the state
	limit      int
	after      *continueToken
	timeout    time.Duration // how long a watch or a list may last; zero: not given
	hasTimeout bool
}

// parseListParams reads and checks the query, as kube-apiserver does and in its words.
func parseListParams(r *http.Request, watch bool) (listParams, error) {
	query := queryOf(r)
	p := listParams{watch: watch || boolParam(query, "watch"), bookmarks: boolParam(query, "allowWatchBookmarks")}
	options := internalversion.ListOptions{
		Watch:                p.watch,
		ResourceVersion:      query.Get("resourceVersion"),
		ResourceVersionMatch: metav1.ResourceVersionMatch(query.Get("resourceVersionMatch")),
		Continue:             query.Get("continue"),
	}
	if value, ok := query["sendInitialEvents"]; ok {
		send := parseBool(value[0])
		options.SendInitialEvents = &send
	}
	var err error
	if p.limit, err = parseLimit(query); err != nil {
		return p, err
	}
	if err = p.parseTimeout(query); err != nil {
		return p, err
	}
	internalversion.SetListOptionsDefaults(&options, true)
	if errs := validation.ValidateListOptions(&options, true); len(errs) > 0 {
		return p, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	p.state = options.SendInitialEvents != nil && *options.SendInitialEvents
	p.exact = options.ResourceVersionMatch == metav1.ResourceVersionMatchExact
	p.notOlder = options.ResourceVersionMatch == metav1.ResourceVersionMatchNotOlderThan
	if p.selector, err = selector.Parse(query.Get("labelSelector"), query.Get("fieldSelector")); err != nil {
		return p, badRequest("%v", err)
	}
	if p.revision, p.unset, err = parseRevision(options.ResourceVersion); err != nil {
		return p, err
	}
	if err := p.parseLastEventID(r); err != nil {
		return p, err
	}
	return p, p.parseContinue(options.Continue)
}

// parseLastEventID lets a client of an event stream go on where it stood, whatever its URL said when it began.
func (p *listParams) parseLastEventID(r *http.Request) error {
	id := lastEventID(r)
	if id == "" || !p.watch {
		return nil
	}
	revision, _, err := parseRevision(id)
	if err != nil || revision == 0 {
		return badRequest("Last-Event-ID %.64q: want the id of an event", id)
	}
	p.revision, p.unset, p.state = revision, false, false
	return nil
}

func (p *listParams) parseContinue(text string) (err error) {
	if text == "" || p.watch {
		return nil
	}
	if p.revision != 0 {
		return badRequest("specifying resource version is not allowed when using continue")
	}
	p.after, err = parseContinueToken(text)
	return err
}

func (p *listParams) parseTimeout(query url.Values) error {
	seconds, err := intParam(query, "timeoutSeconds")
	p.hasTimeout = seconds > 0
	p.timeout = time.Duration(min(max(seconds, 0), maxTimeoutSeconds)) * time.Second
	return err
}

// maxTimeoutSeconds keeps a duration from overflowing: a year.
const maxTimeoutSeconds = 365 * 24 * 60 * 60

func parseLimit(query url.Values) (int, error) {
	limit, err := intParam(query, "limit")
	return int(min(max(limit, 0), math.MaxInt32)), err // zero and less: no limit
}
