package resource

import "revtail/encoding"

// Mount is how keys that other programs write, below a prefix of their own, are the objects of a resource. It is safe for
// concurrent use.
type Mount interface {
	// KeyPrefix is what the keys begin with; it ends with "/".
	KeyPrefix() string
	// Path is the path of the object of a key, of which rest is what follows the prefix: that of its Scope or, for a key that no
	// scope can have, another one. No two keys have the same path. The order of keys is not that of paths.
	Path(rest string) string
	// Key is the key of one object; false: no key has that name.
	Key(scope Scope) (key string, ok bool)
	// Decode makes an object. A value that cannot be decoded makes one that shows its bytes, and an error that says why; an error
	// without an object says why the key cannot be shown.
	Decode(e Entry) (encoding.Object, error)
	// Encode is the value that is stored for an object.
	Encode(object map[string]any) ([]byte, error)
	// SameValue tells whether an object has the value of one as it is shown.
	SameValue(object, shown map[string]any) bool
}

// Entry is a key and what stands under it.
type Entry struct {
	Key      string
	Value    []byte
	Created  int64  // the revision in which the key was made
	Modified int64  // that of the last write; zero: there was none yet
	UID      string // empty: that of the key and Created
}
