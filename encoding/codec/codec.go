package codec

import (
	"errors"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"revtail/encoding/jsontext"
)

// The media types that Decode accepts.
const (
	JSON = "application/json"
	YAML = "application/yaml"
)

// Decoded is the body of a request.
type Decoded struct {
	// Object is a value of jsontext.Unmarshal.
	Object map[string]any
	// Duplicates are the paths, such as spec.ports[0].name, of the members that occur more than once in their object, in the order of
	// the body. Object has their last value. Long lists and paths are truncated.
	Duplicates []string
}

// Decode decodes a body, which must be one object and must not change from then on, as in jsontext.Unmarshal. An empty contentType
// means JSON. Decode ignores parameters such as charset=utf-8.
//
// The error is a *UnsupportedMediaTypeError, a *SyntaxError, a *LimitError, ErrNotUTF8 or ErrNotObject.
func Decode(contentType string, body []byte) (Decoded, error) {
	mediaType, err := mediaTypeOf(contentType)
	if err != nil {
		return Decoded{}, err
	}
	if !utf8.Valid(body) {
		return Decoded{}, ErrNotUTF8
	}
	if mediaType == YAML {
		if body, err = yamlToJSON(body); err != nil {
			return Decoded{}, err
		}
	}
	return decodeJSON(body)
}

func mediaTypeOf(contentType string) (string, error) {
	if contentType == "" || contentType == JSON {
		return JSON, nil
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	malformed := err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter)
	if malformed || mediaType != JSON && mediaType != YAML {
		return "", &UnsupportedMediaTypeError{ContentType: contentType, Accepted: []string{JSON, YAML}}
	}
	return mediaType, nil
}

func decodeJSON(body []byte) (Decoded, error) {
	members, err := measure(body)
	if err != nil {
		return Decoded{}, err
	}
	object, err := jsontext.Unmarshal(body)
	if err != nil {
		if cause := errors.Unwrap(err); cause != nil {
			return Decoded{}, &SyntaxError{Format: "json", Err: cause}
		}
		return Decoded{}, ErrNotObject
	}
	decoded := Decoded{Object: object}
	if count(object) < members {
		// Members without a place in the map are duplicates.
		decoded.Duplicates = duplicates(body)
	}
	return decoded, nil
}

// The errors of bodies in any format.
var (
	ErrNotUTF8   = errors.New("the body is not valid UTF-8")
	ErrNotObject = errors.New("the body is not an object")
)

// UnsupportedMediaTypeError is the error for a body in an unknown format.
type UnsupportedMediaTypeError struct {
	ContentType string   // of the request
	Accepted    []string // media types
}

func (e *UnsupportedMediaTypeError) Error() string {
	return fmt.Sprintf("the body is of type %.100q; accepted are %s", e.ContentType, strings.Join(e.Accepted, ", "))
}

// SyntaxError is the error for a body that is not valid in its format.
type SyntaxError struct {
	Format string // "json", "yaml" or "protobuf"
	Err    error  // of the parser
}

func (e *SyntaxError) Error() string { return e.Format + " parse error: " + e.Err.Error() }

func (e *SyntaxError) Unwrap() error { return e.Err }

// LimitError is the error for a body that exceeds a limit.
type LimitError struct {
	What  string // such as "levels of nesting"
	Limit int    // the maximum
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the body has more than %d %s", e.Limit, e.What)
}
