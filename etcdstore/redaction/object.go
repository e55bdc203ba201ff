package redaction

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
)

// Object returns an object of the Kubernetes API, in JSON, without values if it is a Secret. Equal values have the same texts as those of a
// Store with the same key.
func (k Key) Object(object []byte) []byte {
	redacted, _ := redactor{key: k}.json(object, false)
	return redacted
}

// shown matches what Key.Text returns.
var shown = regexp.MustCompile(`^redacted: \d+ bytes, digest [0-9a-f]{12}$`)

// IsText reports whether a value is a text of a Key.
func IsText(value []byte) bool { return shown.Match(value) }

// IsRedacted reports whether an object in JSON is a Secret with a redacted value.
func IsRedacted(object []byte) bool {
	var secret struct {
		Kind       string            `json:"kind"`
		Data       map[string]string `json:"data"`
		StringData map[string]string `json:"stringData"`
		Metadata   struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if json.Unmarshal(object, &secret) != nil || secret.Kind != kind {
		return false
	}
	for _, text := range secret.Data {
		if data, err := base64.StdEncoding.DecodeString(text); err == nil && IsText(data) {
			return true
		}
	}
	for _, text := range secret.StringData {
		if IsText([]byte(text)) {
			return true
		}
	}
	return IsText([]byte(secret.Metadata.Annotations[lastApplied])) // of a Secret without values
}
