package resource

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

const (
	// maxSegment bounds a segment of a URL, in bytes: names of mounted keys can be that long.
	maxSegment = 1 << 10
	// maxName bounds other names, in bytes, as DNS does.
	maxName = 253
)

// ParsePath returns the segments of an escaped URL path. It splits the path on "/" and then unescapes each segment once, so that an
// escaped slash separates no segments. Each segment can be a part of an etcd key.
//
// An empty segment is an error, except for a trailing slash, which is ignored.
func ParsePath(escaped string) ([]string, error) {
	rest, ok := strings.CutPrefix(escaped, "/")
	if !ok {
		return nil, fmt.Errorf(`the path segment %.64q does not begin with "/"`, escaped)
	}
	if rest == "" {
		return nil, nil
	}
	segments := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	for i, raw := range segments {
		segment, err := url.PathUnescape(raw)
		if err != nil {
			return nil, fmt.Errorf("the path segment %.64q is not properly escaped", raw)
		}
		if reason := refuse(segment); reason != "" {
			return nil, fmt.Errorf("the path segment %.64q %s", raw, reason)
		}
		segments[i] = segment
	}
	return segments, nil
}

// validSegment reports whether an object can be stored under a name.
func validSegment(s string) bool { return len(s) <= maxName && refuse(s) == "" }

// refuse returns why a segment cannot be a part of a key; empty: it can.
func refuse(s string) string {
	switch {
	case s == "":
		return "is empty"
	case s == "." || s == "..":
		return "is a relative path, which no object can be called"
	case len(s) > maxSegment:
		return fmt.Sprintf("is longer than %d bytes", maxSegment)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	}
	for _, c := range s {
		if c == '/' || c == '\\' || c == '%' {
			return fmt.Sprintf("contains %q, which no object's name can", c)
		}
		if c < 0x20 || c == 0x7f {
			return "contains a control character"
		}
	}
	return ""
}
