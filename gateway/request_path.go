package gateway

import "strings"

// keysPath is the root of the keys API: what follows it in a path is a key of etcd.
const keysPath = "/v1/keys"

// isKeysPath reports whether a path names keys.
func isKeysPath(path string) bool { return path == keysPath || strings.HasPrefix(path, keysPath+"/") }

// isKeysAPI reports whether a path belongs to the keys API: /v1/keys, /v1/txn and what is beside them.
func isKeysAPI(path string) bool { return path == "/v1" || strings.HasPrefix(path, "/v1/") }

// requestPath is what the path of a URL of the resource API names.
type requestPath struct {
	Group, Version, Namespace, Resource, Name, Subresource string
}
