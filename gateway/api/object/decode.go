package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"revtail/encoding/codec"
	"revtail/encoding/protobuf"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// Decode decodes the body of a create or an update, which must be an object of a resource's kind, and checks the types of its fields. The
// errors are Statuses.
func Decode(res *resource.Resource, contentType string, body []byte) (Object, error) {
	decoded, err := DecodeBody(res, contentType, body)
	if err != nil {
		return Object{}, decodeError(res, body, err)
	}
	d := New(decoded.Object)
	d.FieldWarnings = DuplicateFields(decoded.Duplicates)
	d.CompleteKind(res)
	if err = d.CheckKind(res, body); err != nil {
		return Object{}, err
	}
	if err = d.CheckTypes(res); err != nil {
		return Object{}, CannotHandle(res, err)
	}
	if len(d.FieldWarnings) > 0 && res.GoType != nil && json.Valid(body) {
		d.FieldWarnings = fieldWarnings(res, body)
	}
	return d, nil
}

// fieldWarnings returns the unknown and duplicate fields of a JSON body in its order, as kube-apiserver does for kinds with a Go type.
func fieldWarnings(res *resource.Resource, body []byte) []string {
	strict, err := kjson.UnmarshalStrict(body, reflect.New(reflect.TypeOf(res.GoType)).Interface())
	if err != nil { // not reached: CheckTypes has decoded it
		return []string{err.Error()}
	}
	return texts(strict)
}

func texts(errs []error) []string {
	out := make([]string, len(errs))
	for i, err := range errs {
		out[i] = err.Error()
	}
	return out
}

// DecodeBody decodes the body of a request for a resource. Typed clients in Go send protobuf for the kinds of Kubernetes itself.
func DecodeBody(res *resource.Resource, contentType string, body []byte) (codec.Decoded, error) {
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

// decodeError returns the Status of a body that cannot be decoded, with kube-apiserver's message.
func decodeError(res *resource.Resource, body []byte, err error) error {
	if status.Of(err).Code == http.StatusUnsupportedMediaType {
		return err
	}
	return unrecognized(res, "%v (%s)", err, excerpt(body))
}

func unrecognized(res *resource.Resource, format string, args ...any) error {
	return status.BadRequest("the object provided is unrecognized (must be of type %s): couldn't get version/kind; %s", res.Kind, fmt.Sprintf(format, args...))
}

// CompleteKind sets a missing apiVersion and kind to those of a built-in kind, because many clients leave out what the URL says. Custom
// resources need both, as in kube-apiserver.
func (d Object) CompleteKind(res *resource.Resource) {
	if res.GoType == nil {
		return
	}
	for member, value := range map[string]string{"apiVersion": res.APIVersion(), "kind": res.Kind} {
		if sent := d.Object[member]; sent == nil || sent == "" {
			d.Object[member] = value
		}
	}
}

// CheckKind checks that an object has the apiVersion and the kind of a resource. body is for the message.
func (d Object) CheckKind(res *resource.Resource, body []byte) error {
	apiVersion, _ := d.Object["apiVersion"].(string)
	kind, _ := d.Object["kind"].(string)
	switch {
	case kind == "":
		return unrecognized(res, "Object 'Kind' is missing in '%s'", excerpt(body))
	case apiVersion != res.APIVersion():
		return status.BadRequest("the API version in the data (%s) does not match the expected API version (%s)", apiVersion, res.APIVersion())
	case kind != res.Kind && res.GoType != nil:
		return status.BadRequest("%s in version %q cannot be handled as a %s: the kind of this URL is %s", kind, res.Version, res.Kind, res.Kind)
	case kind != res.Kind:
		return apierrors.NewInvalid(schema.GroupKind{Group: res.Group, Kind: kind}, d.GetName(),
			field.ErrorList{field.Invalid(field.NewPath("kind"), kind, "must be "+res.Kind)})
	}
	return nil
}

// excerpt returns the beginning of a body, for messages.
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

// CannotHandle returns the Status of an object with a field of a wrong type.
func CannotHandle(res *resource.Resource, err error) error {
	return status.BadRequest("%s in version %q cannot be handled as a %s: %v", res.Kind, res.Version, res.Kind, err)
}
