package diff

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"revtail/cmd/revtail/command"
	"revtail/encoding"
	"revtail/etcdstore/redaction"
)

// Normal returns an object with sorted members. Unless all is true it has no managedFields, resourceVersion and generation, because these count writes:
// they differ also after a change that has been undone. The uid, which says whether it is the same object, and the status stay.
func Normal(object []byte, all bool) ([]byte, error) {
	value, err := decode(object)
	if err != nil {
		return nil, err
	}
	members, _ := value.(map[string]any)
	if metadata, isObject := members["metadata"].(map[string]any); isObject && !all {
		for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
			delete(metadata, field)
		}
	}
	return encoding.MarshalValue(value)
}

// Unified prints the differences of two JSON documents as YAML, in the unified format; nil is a document that does not exist. Redacted values of
// Secrets are printed as text, without their encoding.
func (p Printer) Unified(out *bytes.Buffer, oldName string, old []byte, newName string, next []byte) error {
	before, err := toYAML(old)
	if err != nil {
		return err
	}
	after, err := toYAML(next)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(diff.Diff(oldName, before, newName, after)), "\n"), "\n") {
		if i == 0 { // the command line of a diff
			continue
		}
		p.Text(out, unifiedColor(line), command.Printable(line))
		out.WriteByte('\n')
	}
	return nil
}

func unifiedColor(line string) string {
	switch {
	case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		return Dim
	case strings.HasPrefix(line, "-"):
		return Red
	case strings.HasPrefix(line, "+"):
		return Green
	}
	return ""
}

func toYAML(object []byte) ([]byte, error) {
	if object == nil {
		return nil, nil
	}
	if redaction.IsRedacted(object) {
		value, err := decode(object)
		if err != nil {
			return nil, err
		}
		for name, data := range membersOf(value, "data") {
			text, _ := data.(string)
			if plain, failed := base64.StdEncoding.DecodeString(text); failed == nil && redaction.IsText(plain) {
				membersOf(value, "data")[name] = string(plain)
			}
		}
		if object, err = encoding.MarshalValue(value); err != nil {
			return nil, err
		}
	}
	return encoding.YAML(object)
}
