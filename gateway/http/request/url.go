package request

import (
	"net"
	"strings"

	"revtail/gateway/console"
)

// DecodePath is the decoded path of the segments of an escaped one. A slash at the end is dropped, but for keys, where it tells a
// prefix from a key, and for the console, whose files are relative to it.
func DecodePath(escaped string, segments []string) string {
	path := "/" + strings.Join(segments, "/")
	if (IsKeysPath(path) || path+"/" == console.Path) && strings.HasSuffix(escaped, "/") {
		path += "/"
	}
	return path
}

// HostOf is an address without its port.
func HostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
