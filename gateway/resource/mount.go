package resource

import "revtail/encoding"

// Mount converts keys of other programs, below a prefix, to the objects of a resource and back. It is safe for concurrent use.
type Mount interface {
	// KeyPrefix is what the keys begin with; it ends with "/".
	KeyPrefix() string
	// Path is the path of the object of a key; rest is the key without the prefix. It is that of the object's Scope or, if no scope
	// has the key, another one. Two keys never have the same path. The order of keys is not that of paths.
	Path(rest string) string
	// Key is the key of one object; false: no key has that name.
	Key(scope Scope) (key string, ok bool)
	// Decode makes an object. A value that cannot be decoded makes one that shows its bytes, and an error that says why; an error
	// without an object says why the key cannot be shown.
	Decode(e Entry) (encoding.Object, error)
	// Encode is the value that is stored for an object.
	Encode(object map[string]any) ([]byte, error)
	// SameValue reports whether an object has the same value as one that Decode has made.
	SameValue(object, shown map[string]any) bool
}

// Entry is a key and its value.
type Entry struct {
	Key      string
	Value    []byte
	Created  int64  // the revision in which the key was made
	Modified int64  // the revision of the last write; zero: there was none yet
	UID      string // empty: computed from the key and Created
}
