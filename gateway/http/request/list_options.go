package request

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
	"revtail/gateway/access/cputime"
	"revtail/gateway/http/status"
	"revtail/gateway/watchcache/filter"
	"revtail/gateway/watchcache/selector"
)

// ListOptions are the query parameters of a list or a watch. Unknown parameters are ignored. Of a repeated parameter, the first value
// is used.
type ListOptions struct {
	Selector  *selector.Selector
	Filter    *filter.Filter // nil: everything
	watch     bool
	Bookmarks bool

	Revision      etcdstore.Revision
	Unset         bool // there is no resourceVersion; Revision is zero then, as for resourceVersion=0
	Exact         bool // resourceVersionMatch=Exact
	NotOlder      bool // resourceVersionMatch=NotOlderThan
	InitialEvents bool // the watch begins with the state
	Limit         int
	Continue      *ContinueToken
	Timeout       time.Duration // of the watch or the list; zero: not given
	HasTimeout    bool

	Account *cputime.Account // of the caller, which pays for the evaluation of Selector and Filter; set by the caller of ParseListOptions
}

// ParseListOptions reads and checks the query as kube-apiserver does, with its messages. watch: the URL names a watch, whatever the
// query says. The error is a Status.
func ParseListOptions(r *http.Request, watch bool) (ListOptions, error) {
	query := Query(r)
	p := ListOptions{watch: watch || Bool(query, "watch"), Bookmarks: Bool(query, "allowWatchBookmarks")}
	options := internalversion.ListOptions{
		Watch:                p.watch,
		ResourceVersion:      query.Get("resourceVersion"),
		ResourceVersionMatch: metav1.ResourceVersionMatch(query.Get("resourceVersionMatch")),
		Continue:             query.Get("continue"),
	}
	if value, ok := query["sendInitialEvents"]; ok {
		send := ParseBool(value[0])
		options.SendInitialEvents = &send
	}
	limit, err := Int(query, "limit")
	if err != nil {
		return p, err
	}
	p.Limit = int(min(max(limit, 0), math.MaxInt32)) // zero and less: no limit
	if err = p.parseTimeout(query); err != nil {
		return p, err
	}
	internalversion.SetListOptionsDefaults(&options, true)
	if errs := validation.ValidateListOptions(&options, true); len(errs) > 0 {
		return p, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	p.InitialEvents = options.SendInitialEvents != nil && *options.SendInitialEvents
	p.Exact = options.ResourceVersionMatch == metav1.ResourceVersionMatchExact
	p.NotOlder = options.ResourceVersionMatch == metav1.ResourceVersionMatchNotOlderThan
	if p.Selector, err = selector.Parse(query.Get("labelSelector"), query.Get("fieldSelector")); err != nil {
		return p, status.BadRequest("%v", err)
	}
	if p.Revision, p.Unset, err = ParseRevision(options.ResourceVersion); err != nil {
		return p, err
	}
	if err := p.parseLastEventID(r); err != nil {
		return p, err
	}
	return p, p.parseContinue(options.Continue)
}

// IsWatch reports whether the options are those of a watch.
func (p *ListOptions) IsWatch() bool { return p.watch }

// parseLastEventID resumes an event stream after the last event of the client, whatever the query says.
func (p *ListOptions) parseLastEventID(r *http.Request) error {
	id := LastEventID(r)
	if id == "" || !p.watch {
		return nil
	}
	revision, _, err := ParseRevision(id)
	if err != nil || revision == 0 {
		return status.BadRequest("Last-Event-ID %.64q: want the id of an event", id)
	}
	p.Revision, p.Unset, p.InitialEvents = revision, false, false
	return nil
}

func (p *ListOptions) parseContinue(text string) (err error) {
	if text == "" || p.watch {
		return nil
	}
	if p.Revision != 0 {
		return status.BadRequest("specifying resource version is not allowed when using continue")
	}
	p.Continue, err = parseContinueToken(text)
	return err
}

func (p *ListOptions) parseTimeout(query url.Values) error {
	seconds, err := Int(query, "timeoutSeconds")
	p.HasTimeout = seconds > 0
	p.Timeout = time.Duration(min(max(seconds, 0), maxTimeoutSeconds)) * time.Second
	return err
}

// maxTimeoutSeconds is a year. It keeps a time.Duration from overflowing.
const maxTimeoutSeconds = 365 * 24 * 60 * 60
