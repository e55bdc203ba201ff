package keys

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"revtail/gateway/http/response"
	"revtail/gateway/keys/keyrange"
)

// readLifetime returns the directives of Cache-Control for a read (RFC 9111); empty: the answer is not kept, because it may change.
// The state of a revision never changes, but etcd may be restored from a backup. What had been written at a time may become known
// more precisely.
func readLifetime(q keyrange.Query) string {
	switch {
	case q.AtTime != nil:
		return "max-age=10"
	case q.At != 0:
		return "max-age=300, immutable"
	}
	return ""
}

// pollLifetime does the same for a long poll. An answer without changes is for clients that ask meanwhile: only a shared cache keeps
// it, because a client would get it from its own cache at once, again and again.
func pollLifetime(changes bool) string {
	if changes {
		return "max-age=60"
	}
	return "max-age=0, s-maxage=1"
}

// allowCaching lets caches keep an answer for a lifetime, and returns its format. Where access is restricted or audited, only the
// client's own cache may keep it, because a request that a shared cache answers is neither authorized nor recorded. The format of an
// answer that may be kept does not depend on the User-Agent, because that is not in Vary.
func (h *Handler) allowCaching(w http.ResponseWriter, r *http.Request, lifetime string) response.Format {
	if lifetime == "" {
		return response.FormatOf(r)
	}
	scope := "private, "
	if h.keys.access.Unrestricted() {
		scope = "public, "
	}
	w.Header().Set("Cache-Control", scope+lifetime)
	w.Header().Add("Vary", "Accept, Accept-Encoding")
	return response.CacheableFormat(r)
}

// etag returns a tag that changes whenever the answer changes; empty: the answer has none. The tag of a key is its revision, which
// If-Match takes. The tag of a prefix is the newest revision of its keys and their number: while the newest revision stays, keys can
// only be deleted, and then the number is less.
func (k *keysReader) etag() string {
	switch q := k.query; {
	case !q.Keys.IsPrefix() && k.count == 1:
		return `"` + strconv.FormatInt(int64(k.modified), 10) + `"`
	case k.more > 0 || q.After != "" || q.Count || q.Level:
		return ""
	}
	return fmt.Sprintf(`"%d.%d"`, k.modified, k.count)
}

// matchesETag reports whether If-None-Match names a tag.
func matchesETag(header []string, tag string) bool {
	return slices.ContainsFunc(strings.Split(strings.Join(header, ","), ","), func(given string) bool {
		given = strings.TrimPrefix(strings.TrimSpace(given), "W/")
		return given == "*" || given == tag
	})
}
