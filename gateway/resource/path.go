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
	// maxName is the length that other names can have at most: that of a DNS name.
	maxName = 253
)

// PathError says why a URL path is refused.
type PathError struct{ Segment, Reason string }

func (e *PathError) Error() string {
	return fmt.Sprintf("the path segment %.64q %s", e.Segment, e.Reason)
}

// ParsePath reads an escaped URL path. It splits the path on "/" first and unescapes each segment exactly once, so that an escaped
// slash never moves a boundary. Every segment can be a part of an etcd key.
//
// An empty segment is refused, but for the first (the path begins with "/") and the last (a trailing slash, dropped).
func ParsePath(escaped string) ([]string, error) {
	rest, ok := strings.CutPrefix(escaped, "/")
	if !ok {
		return nil, &PathError{Segment: escaped, Reason: `does not begin with "/"`}
	}
	if rest == "" {
		return nil, nil
	}
	segments := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	for i, raw := range segments {
		segment, err := url.PathUnescape(raw)
		if err != nil {
			return nil, &PathError{Segment: raw, Reason: "is not properly escaped"}
		}
		if reason := refuse(segment); reason != "" {
			return nil, &PathError{Segment: raw, Reason: reason}
		}
		segments[i] = segment
	}
	return segments, nil
}

// validSegment reports whether an object can be stored under a name.
func validSegment(s string) bool { return len(s) <= maxName && refuse(s) == "" }

// refuse says why a segment cannot be a part of a key; empty: it can.
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
