package encoding

import (
	"bytes"
	"errors"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"revtail/encoding/jsontext"
)

// maxBlockDepth is the depth up to which a YAML document is indented. Deeper values are on one line, because the indentation would
// make the text grow with the square of the depth.
const maxBlockDepth = 64

// YAML returns a JSON document as YAML with a newline at its end. It keeps the order of members and the digits of numbers. The error
// is a *jsontext.DecodeError.
func YAML(doc []byte) ([]byte, error) {
	value, err := jsontext.Parse(doc)
	if err != nil {
		return nil, err
	}
	var buffer bytes.Buffer
	buffer.Grow(len(doc) + len(doc)/4)
	encoder := yaml.NewEncoder(&buffer)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := errors.Join(encoder.Encode(yamlNode(value, 0)), encoder.Close()); err != nil {
		return nil, &jsontext.DecodeError{Reason: "not fit for YAML", Err: err}
	}
	return buffer.Bytes(), nil
}

func yamlNode(value any, depth int) *yaml.Node {
	node := &yaml.Node{}
	if depth == maxBlockDepth {
		node.Style = yaml.FlowStyle
	}
	switch value := value.(type) {
	case *jsontext.Object:
		node.Kind = yaml.MappingNode
		for _, name := range value.Names {
			node.Content = append(node.Content, yamlString(name), yamlNode(value.Values[name], depth+1))
		}
	case []any:
		node.Kind = yaml.SequenceNode
		for _, element := range value {
			node.Content = append(node.Content, yamlNode(element, depth+1))
		}
	case jsontext.Scalar:
		if text, ok := value.Text(); ok {
			return yamlString(text)
		}
		node = &yaml.Node{Kind: yaml.ScalarNode, Value: string(value)}
	}
	return node
}

func yamlString(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if resemblesYAML11(text) || unsafeInBlock(text) || strings.ContainsFunc(text, unprintable) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// resemblesYAML11 reports whether a parser of YAML 1.1, the most common ones, could take a plain string for another type.
func resemblesYAML11(text string) bool {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "<<", "=":
		return true
	}
	return text != "" && strings.ContainsRune("+-0123456789", rune(text[0])) && strings.ContainsAny(text, ":_")
}

// unsafeInBlock reports whether a block scalar could lose white space of a string.
func unsafeInBlock(text string) bool {
	return strings.Contains(text, "\n") && (strings.ContainsRune(" \n", rune(text[0])) || strings.HasSuffix(text, "\n\n") || strings.Contains(text, "\t"))
}

func unprintable(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
