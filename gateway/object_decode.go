package gateway

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/encoding/codec"
	"revtail/encoding/protobuf"
	"revtail/gateway/resource"
)

// decodeDocument reads the body of a create or an update, which must be an object of the kind, and checks the types of its fields.
func decodeDocument(res *resource.Resource, contentType string, body []byte) (document, error) {
	decoded, err := decodeBody(res, contentType, body)
	if err != nil {
		return document{}, decodeError(res, body, err)
	}
	d := newDocument(decoded.Object)
	d.fieldWarnings = duplicateFields(decoded.Duplicates)
	if err = d.checkKind(res, body); err != nil {
		return document{}, err
	}
	if err = d.checkTypes(res); err != nil {
		return document{}, cannotHandle(res, err)
	}
	return d, nil
}

// decodeBody reads the body of a request for a resource. Typed clients in Go send protobuf, and nothing else, for the kinds of
// Kubernetes itself.
func decodeBody(res *resource.Resource, contentType string, body []byte) (codec.Decoded, error) {
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

// decodeError says that a body is no object, in the words of kube-apiserver.
func decodeError(res *resource.Resource, body []byte, err error) error {
	if toStatus(err).Code == http.StatusUnsupportedMediaType {
		return err
	}
	return unrecognized(res, "%v (%s)", err, excerpt(body))
}

func unrecognized(res *resource.Resource, format string, args ...any) error {
	return badRequest("the object provided is unrecognized (must be of type %s): couldn't get version/kind; %s", res.Kind, fmt.Sprintf(format, args...))
}

func (d document) checkKind(res *resource.Resource, body []byte) error {
	apiVersion, _ := d.Object["apiVersion"].(string)
	kind, _ := d.Object["kind"].(string)
	switch {
	case kind == "":
		return unrecognized(res, "Object 'Kind' is missing in '%s'", excerpt(body))
	case apiVersion == "":
		return unrecognized(res, "Object 'apiVersion' is missing in '%s'", excerpt(body))
	case apiVersion != res.APIVersion():
		return badRequest("the API version in the data (%s) does not match the expected API version (%s)", apiVersion, res.APIVersion())
	case kind != res.Kind:
		return apierrors.NewInvalid(schema.GroupKind{Group: res.Group, Kind: kind}, d.GetName(),
			field.ErrorList{field.Invalid(field.NewPath("kind"), kind, "must be "+res.Kind)})
	}
	return nil
}

// excerpt is the beginning of a body, for messages.
func excerpt(body []byte) string {
	const length = 40
	switch {
	case len(body) == 0:
		return "<empty>"
	case len(body) > length:
		return strings.ToValidUTF8(string(body[:length]), "�") + " ..."
	}
	return strings.ToValidUTF8(string(body), "�")
}

// cannotHandle says that the fields of an object are not those of its kind.
func cannotHandle(res *resource.Resource, err error) error {
	return badRequest("%s in version %q cannot be handled as a %s: %v", res.Kind, res.Version, res.Kind, err)
}
