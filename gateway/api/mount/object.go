package mount

import (
	"encoding/base64"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/google/uuid"

	"revtail/encoding"
	"revtail/encoding/jsontext"
	"revtail/gateway/resource"
)

// The annotations by which an object says which key it is; a key that is not UTF-8 in base64.
const (
	keyAnnotation   = "revtail/key"
	key64Annotation = "revtail/key64"
)

// The members that an object has beside its metadata: the value or, where that could not be decoded, why not and its bytes.
const (
	valueMember       = "value"
	undecodableMember = "undecodable"
	bytesMember       = "bytes"
)

var errLongName = errors.New("the key is too long for a name")

// Decode makes the object of a key. A value that cannot be decoded is shown with its bytes: the error says why. Without an
// object the error says why the key cannot be shown at all.
func (m *Mount) Decode(e resource.Entry) (encoding.Object, error) {
	scope, ok := m.split(m.Path(e.Key[len(m.Prefix):]))
	if !ok {
		return encoding.Object{}, errLongName
	}
	w := encoding.Wrapping{
		Identity:    encoding.Identity{APIVersion: m.Group + "/" + m.Version, Kind: m.Kind, Namespace: scope.Namespace, Name: scope.Name},
		UID:         e.UID,
		Annotations: [][2]string{annotationOf(e.Key)},
	}
	if w.UID == "" {
		w.UID = uidOf(e.Key, e.Created)
	}
	value, undecodable := m.Codec.Decode(e.Value)
	if undecodable == nil {
		var object encoding.Object
		w.Members = [][2]string{{valueMember, string(value)}}
		if object, undecodable = w.Object(e.Modified); undecodable == nil {
			return object, nil
		}
	}
	why := jsontext.AppendString(nil, fmt.Sprintf("not what the codec %s reads: %v", m.Codec, undecodable))
	w.Members = [][2]string{{undecodableMember, string(why)}, {bytesMember, `"` + base64.StdEncoding.EncodeToString(e.Value) + `"`}}
	object, err := w.Object(e.Modified)
	if err != nil {
		return encoding.Object{}, err
	}
	return object, undecodable
}

// Encode returns the value of an object, as it is stored.
func (m *Mount) Encode(object map[string]any) ([]byte, error) {
	return m.Codec.Encode(object[valueMember])
}

// SameValue reports whether an object has the value that another one, as it is shown, has already.
func (m *Mount) SameValue(object, shown map[string]any) bool {
	_, has := object[valueMember]
	_, had := shown[valueMember]
	if !has || !had {
		return has == had
	}
	a, err := encoding.MarshalValue(object[valueMember])
	b, failed := encoding.MarshalValue(shown[valueMember])
	return err == nil && failed == nil && string(a) == string(b)
}

// annotationOf returns the annotation that names a key, and its value.
func annotationOf(key string) [2]string {
	if utf8.ValidString(key) {
		return [2]string{keyAnnotation, key}
	}
	return [2]string{key64Annotation, base64.StdEncoding.EncodeToString([]byte(key))}
}

// uids is the space of names, in the sense of RFC 9562, of the keys of mounts.
var uids = uuid.MustParse("6f5a0f0e-3c0a-5d5e-9a52-8d2c9a1f7b60")

// uidOf returns the uid of a key, which is the same in every gateway. A key that is created again has another uid.
func uidOf(key string, created int64) string {
	return uuid.NewSHA1(uids, fmt.Appendf(nil, "%d %s", created, key)).String()
}
