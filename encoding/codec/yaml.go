package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// maxIndicators exceeds MaxTokens, because the indicators in strings, block scalars and comments are text.
const maxIndicators = 2 * MaxTokens

// yamlToJSON converts a YAML body of one document to JSON. Scalars have the types of YAML 1.1, as in kubectl, so that a plain yes is
// true. Duplicate members stay.
func yamlToJSON(body []byte) ([]byte, error) {
	if indicators(body) > maxIndicators {
		return nil, tooManyTokens(MaxTokens)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(body))
	var document, next yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, ErrNotObject
	} else if err != nil {
		return nil, &SyntaxError{Format: "yaml", Err: err}
	}
	if err := decoder.Decode(&next); err == nil {
		return nil, &SyntaxError{Format: "yaml", Err: fmt.Errorf("line %d: a second document; send one at a time", next.Line)}
	} else if !errors.Is(err, io.EOF) {
		return nil, &SyntaxError{Format: "yaml", Err: err}
	}
	w := yamlWriter{dst: make([]byte, 0, len(body))}
	if err := w.value(document.Content[0]); err != nil {
		return nil, err
	}
	return w.dst, nil
}

// indicators counts the bytes that can begin a node of a YAML body. Each begins two nodes at most. The count comes first, because the
// parser allocates all nodes before it returns.
func indicators(body []byte) int {
	n := 0
	for i, c := range body {
		switch c {
		case ',', '[', '{':
			n++
		case '-', '?', ':':
			if i+1 == len(body) || bytes.IndexByte([]byte(" \t\r\n"), body[i+1]) >= 0 {
				n++
			}
		}
	}
	return n
}

// styled are the styles of scalars whose type does not depend on their text.
const styled = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle

// booleans11 are the plain scalars that are booleans in YAML 1.1, but strings in YAML 1.2.
var booleans11 = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

// resolve returns the value of a scalar: nil, bool, string, json.Number, or a Go number.
func resolve(node *yaml.Node) (any, error) {
	boolean, is11 := booleans11[node.Value]
	switch node.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		if is11 {
			return boolean, nil
		}
		return decode(node)
	case "!!int", "!!float":
		if json.Valid([]byte(node.Value)) {
			return json.Number(node.Value), nil // keeps all digits
		}
		return decode(node)
	case "!!binary":
		return nil, errBinary
	case "!!str":
		if is11 && node.Style&styled == 0 {
			return boolean, nil
		}
	}
	return node.Value, nil // also of timestamps
}

func decode(node *yaml.Node) (value any, err error) {
	err = node.Decode(&value)
	return value, err
}

// nameOf returns the member name of a key.
func nameOf(key *yaml.Node) (string, error) {
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	if key.Kind != yaml.ScalarNode {
		return "", errName
	}
	value, err := resolve(key)
	if err != nil {
		return "", err
	}
	if value == nil {
		return "", errName
	}
	return fmt.Sprint(value), nil
}
