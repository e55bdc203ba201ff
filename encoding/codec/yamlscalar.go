package codec

import (
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

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
