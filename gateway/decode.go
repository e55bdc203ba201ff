package gateway

import (
	"errors"
	"mime"

	"revtail/encoding/codec"
	"revtail/encoding/protobuf"
	"revtail/gateway/resource"
)

// decode reads the body of a request for a resource. Typed clients in Go send protobuf, and nothing else, for the kinds of
// Kubernetes itself.
func decode(res *resource.Resource, contentType string, body []byte) (codec.Decoded, error) {
	if contentType != codec.JSON {
		mediaType, _, _ := mime.ParseMediaType(contentType)
		if mediaType == protobuf.MediaType && res.GoType != nil {
			object, err := protobuf.Decode(body)
			return codec.Decoded{Object: object}, err
		}
	}
	decoded, err := codec.Decode(contentType, body)
	if unsupported, ok := errors.AsType[*codec.UnsupportedMediaTypeError](err); ok {
		unsupported.Accepted = res.BodyTypes()
	}
	return decoded, err
}
