package gateway

import (
	"net"
	"strings"

	"revtail/gateway/console"
)

// pathOf is the decoded path of the segments of an escaped one. A slash at the end is dropped, but for keys, where it tells a
// prefix from a key, and for the console, whose files are relative to it.
func pathOf(escaped string, segments []string) string {
	path := "/" + strings.Join(segments, "/")
	if (isKeysPath(path) || path+"/" == console.Path) && strings.HasSuffix(escaped, "/") {
		path += "/"
	}
	return path
}

// hostOf is an address without its port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
