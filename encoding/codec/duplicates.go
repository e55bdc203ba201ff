package codec

import (
	"errors"
	"strings"

	kjson "sigs.k8s.io/json"
)

// maxPath bounds the bytes of a path in Decoded.Duplicates.
const maxPath = 256

// duplicates returns the paths of the members of a valid JSON body that occur more than once in their object: 100 at most, the limit of
// the library.
func duplicates(body []byte) []string {
	var object map[string]any
	strict, _ := kjson.UnmarshalStrict(body, &object, kjson.DisallowDuplicateFields) // the body is valid
	var paths []string
	for _, err := range strict {
		if field, ok := errors.AsType[kjson.FieldError](err); ok {
			paths = append(paths, shorten(field.FieldPath()))
		}
	}
	return paths
}

func shorten(path string) string {
	if len(path) <= maxPath {
		return path
	}
	return strings.ToValidUTF8(path[:maxPath], "") + "…"
}
