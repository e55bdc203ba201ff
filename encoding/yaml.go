package encoding

import (
	"bytes"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// maxBlockDepth is how deep a YAML document is indented; what is deeper stands on one line, as indentation would make the
// text grow with the square of the depth.
const maxBlockDepth = 64

// YAML returns a JSON document as YAML, members in their order, numbers to the last digit, with a newline at its end.
// The error is a *DecodeError.
func YAML(doc []byte) ([]byte, error) {
	s := scanner{doc: doc}
	value, ok := s.value()
	if !ok || !s.end() {
		return nil, refuse(doc)
	}
	var buffer bytes.Buffer
	buffer.Grow(len(doc) + len(doc)/4)
	encoder := yaml.NewEncoder(&buffer)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(yamlNode(value, 0)); err != nil {
		return nil, &DecodeError{Reason: "not fit for YAML", Err: err}
	}
	if err := encoder.Close(); err != nil {
		return nil, &DecodeError{Reason: "not fit for YAML", Err: err}
	}
	return buffer.Bytes(), nil
}

func yamlNode(value any, depth int) *yaml.Node {
	node := &yaml.Node{}
	if depth == maxBlockDepth {
		node.Style = yaml.FlowStyle
	}
	switch value := value.(type) {
	case *ordered:
		node.Kind = yaml.MappingNode
		for _, name := range value.names {
			node.Content = append(node.Content, yamlString(name), yamlNode(value.values[name], depth+1))
		}
		return node
	case []any:
		node.Kind = yaml.SequenceNode
		for _, element := range value {
			node.Content = append(node.Content, yamlNode(element, depth+1))
		}
		return node
	}
	if text, ok := textOf(value); ok {
		return yamlString(text)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(value.([]byte))}
}

func yamlString(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if oldYAML(text) || hardInBlock(text) || strings.ContainsFunc(text, unprintable) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// oldYAML tells whether a string could be taken for something else by parsers of YAML 1.1, which are the most common.
func oldYAML(text string) bool {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "<<", "=":
		return true
	}
	return text != "" && strings.ContainsRune("+-0123456789", rune(text[0])) && strings.ContainsAny(text, ":_")
}

// hardInBlock tells whether a block of lines would lose or misread white space of a string.
func hardInBlock(text string) bool {
	return strings.Contains(text, "\n") && (strings.ContainsRune(" \n", rune(text[0])) || strings.HasSuffix(text, "\n\n") || strings.Contains(text, "\t"))
}

func unprintable(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
