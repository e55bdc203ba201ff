package request

import "strings"

// KeysPath is the root of the keys API: what follows it in a path is a key of etcd.
const KeysPath = "/v1/keys"

// IsKeysPath reports whether a path names keys.
func IsKeysPath(path string) bool { return path == KeysPath || strings.HasPrefix(path, KeysPath+"/") }

// IsKeysAPI reports whether a path belongs to the keys API: /v1/keys, /v1/txn and what is beside them.
func IsKeysAPI(path string) bool { return path == "/v1" || strings.HasPrefix(path, "/v1/") }

// Path is what the path of a URL of the resource API names.
type Path struct {
	Group, Version, Namespace, Resource, Name, Subresource string
}
