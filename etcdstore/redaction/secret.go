package redaction

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"revtail/etcdstore"
)

// Key is the key of the digests (HMAC). Digests with different keys cannot be compared. A guess of a value cannot be checked against a digest without the key.
type Key [sha256.Size]byte

// NewKey returns a random key.
func NewKey() (k Key) {
	_, _ = rand.Read(k[:]) // never fails
	return k
}

// digestLen is how many bytes of a digest are shown.
const digestLen = 6

// Text is what is shown instead of a value.
func (k Key) Text(value []byte) string {
	mac := hmac.New(sha256.New, k[:])
	_, _ = mac.Write(value) // never fails
	return fmt.Sprintf("redacted: %d bytes, digest %s", len(value), hex.EncodeToString(mac.Sum(nil)[:digestLen]))
}

// redactor redacts values of a store.
type redactor struct {
	prefix string
	key    Key
}

const (
	kind        = "Secret"
	lastApplied = corev1.LastAppliedConfigAnnotation
)

var (
	protobufPrefix  = []byte("k8s\x00")
	encryptedPrefix = []byte("k8s:enc:")
)

// redact returns a state without the values of a Secret. A value that cannot be decoded is withheld where Secrets are, because it may be one.
func (r redactor) redact(kv etcdstore.KV) etcdstore.KV {
	if len(kv.Value) == 0 {
		return kv
	}
	here := strings.HasPrefix(kv.Key, r.prefix+"/secrets/") || strings.HasPrefix(kv.Key, "/registry/secrets/")
	suspect := here || strings.Contains("/"+kv.Key, "/secrets/")
	if !suspect && !bytes.Contains(kv.Value, []byte(kind)) {
		return kv
	}
	value, known := r.object(kv.Value, here)
	if !known && suspect {
		value = r.withhold(kv.Value)
	}
	kv.Value = value
	return kv
}

// object returns an object, without values if it is a Secret. secret: it is one, whatever it says. Not known: it cannot be decoded, or
// does not say what it is.
func (r redactor) object(value []byte, secret bool) (redacted []byte, known bool) {
	switch {
	case bytes.HasPrefix(value, protobufPrefix):
		return r.protobuf(value, secret)
	case bytes.HasPrefix(value, encryptedPrefix):
		return value, false
	}
	return r.json(value, secret)
}

// withhold returns the text for a whole value. An encrypted one keeps the name of its key.
func (r redactor) withhold(value []byte) []byte {
	text := []byte(r.key.Text(value))
	if rest, encrypted := bytes.CutPrefix(value, encryptedPrefix); encrypted { // provider:version:key:bytes
		if parts := bytes.SplitN(rest, []byte(":"), 4); len(parts) == 4 {
			return bytes.Join([][]byte{encryptedPrefix[:len(encryptedPrefix)-1], parts[0], parts[1], parts[2], text}, []byte(":"))
		}
	}
	return text
}

func (r redactor) protobuf(value []byte, secret bool) (redacted []byte, known bool) {
	var envelope runtime.Unknown
	if envelope.Unmarshal(value[len(protobufPrefix):]) != nil {
		return value, false
	}
	if !secret && envelope.Kind != kind {
		return value, envelope.Kind != ""
	}
	var object corev1.Secret
	if object.Unmarshal(envelope.Raw) != nil {
		return r.withhold(value), true
	}
	for name, data := range object.Data {
		object.Data[name] = []byte(r.key.Text(data))
	}
	for name, text := range object.StringData {
		object.StringData[name] = r.key.Text([]byte(text))
	}
	if applied, ok := object.Annotations[lastApplied]; ok {
		object.Annotations[lastApplied] = r.key.Text([]byte(applied))
	}
	raw, err := object.Marshal()
	if err != nil {
		return r.withhold(value), true
	}
	envelope.Raw = raw
	if raw, err = envelope.Marshal(); err != nil {
		return r.withhold(value), true
	}
	return append(bytes.Clone(protobufPrefix), raw...), true
}

func (r redactor) json(value []byte, secret bool) (redacted []byte, known bool) {
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	if decoder.Decode(&object) != nil || object == nil {
		return value, false
	}
	if named, _ := object["kind"].(string); !secret && named != kind {
		return value, named != ""
	}
	for field, content := range object {
		switch field {
		case "apiVersion", "kind", "type", "immutable":
		case "metadata":
			r.metadata(content)
		case "data":
			object[field] = r.values(content, func(text string) any {
				data, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					data = []byte(text)
				}
				return base64.StdEncoding.EncodeToString([]byte(r.key.Text(data)))
			})
		case "stringData":
			object[field] = r.values(content, func(text string) any { return r.key.Text([]byte(text)) })
		default: // no field of a Secret
			object[field] = r.whole(content)
		}
	}
	redacted, err := json.Marshal(object)
	if err != nil {
		return r.withhold(value), true
	}
	return redacted, true
}

// values redacts a map of names and values.
func (r redactor) values(content any, redact func(string) any) any {
	fields, ok := content.(map[string]any)
	if !ok {
		return r.whole(content)
	}
	for name, value := range fields {
		if text, ok := value.(string); ok {
			fields[name] = redact(text)
		} else {
			fields[name] = r.whole(value)
		}
	}
	return fields
}

// whole redacts a part of an object, of any kind.
func (r redactor) whole(content any) any {
	if content == nil {
		return nil
	}
	text, _ := json.Marshal(content) // what was decoded can be encoded
	return r.key.Text(text)
}

// metadata redacts the annotation that has the whole object again.
func (r redactor) metadata(content any) {
	fields, _ := content.(map[string]any)
	annotations, _ := fields["annotations"].(map[string]any)
	if applied, ok := annotations[lastApplied]; ok {
		text, isText := applied.(string)
		if !isText {
			annotations[lastApplied] = r.whole(applied)
			return
		}
		annotations[lastApplied] = r.key.Text([]byte(text))
	}
}
