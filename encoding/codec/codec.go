package codec

import (
	"errors"
	"mime"
	"unicode/utf8"

	"revtail/encoding/jsontext"
)

// The media types that Decode knows.
const (
	JSON = "application/json"
	YAML = "application/yaml"
)

// Decoded is the body of a request.
type Decoded struct {
	// Object has int64, float64 and json.Number numbers, as jsontext.Unmarshal gives them.
	Object map[string]any
	// Duplicates are the paths, such as spec.ports[0].name, of the members that occur more than once in their object, in
	// the order of the body. The last value of such a member is the one in Object. Long lists and paths are cut short.
	Duplicates []string
}

// Decode decodes a body, which must be one object and does not change from then on, as jsontext.Unmarshal says. An empty
// contentType means JSON; parameters such as charset=utf-8 are ignored.
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
		// Some members are lost, so there are duplicates: only then is it worth reading the body again.
		decoded.Duplicates = duplicates(body)
	}
	return decoded, nil
}
