package request

import (
	"strings"

	"revtail/gateway/console"
)

// KeysPath is the root of the keys API. The rest of a path below it is a key of etcd.
const KeysPath = "/v1/keys"

// IsKeysPath reports whether a path names keys.
func IsKeysPath(path string) bool { return path == KeysPath || strings.HasPrefix(path, KeysPath+"/") }

// IsKeysAPI reports whether a path belongs to the keys API: /v1/keys, /v1/txn and all other paths below /v1.
func IsKeysAPI(path string) bool { return path == "/v1" || strings.HasPrefix(path, "/v1/") }

// DecodePath joins the decoded segments of an escaped path. It drops a slash at the end, except in a path of keys, where it marks a
// prefix, and in that of the console, whose files are relative to it.
func DecodePath(escaped string, segments []string) string {
	path := "/" + strings.Join(segments, "/")
	if (IsKeysPath(path) || path+"/" == console.Path) && strings.HasSuffix(escaped, "/") {
		path += "/"
	}
	return path
}
