package resource

import "revtail/encoding"

// Mount converts keys of other programs, below a prefix, to the objects of a resource and back. It is safe for concurrent use.
type Mount interface {
	// KeyPrefix returns the prefix of the keys, which ends with "/".
	KeyPrefix() string
	// Path returns the path of the object of a key; rest is the key without the prefix. It is the path of the object's Scope or, if no
	// scope has the key, another unique path. Keys and paths have different orders.
	Path(rest string) string
	// Key returns the key of an object; false: no key has that name.
	Key(scope Scope) (key string, ok bool)
	// Decode returns the object of a key. If the value cannot be decoded, it returns an error and an object with the bytes; if the key is
	// no name, only an error.
	Decode(e Entry) (encoding.Object, error)
	// Encode returns the value that is stored for an object.
	Encode(object map[string]any) ([]byte, error)
	// SameValue reports whether an object has the same value as one of Decode.
	SameValue(object, decoded map[string]any) bool
}

// Entry is a key and its value.
type Entry struct {
	Key      string
	Value    []byte
	Created  int64  // the revision of the first write
	Modified int64  // the revision of the last write; zero: none yet
	UID      string // empty: computed from the key and Created
}
