package codec

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// maxAliased bounds the bytes of the scalars from the aliases of a YAML body.
const maxAliased = 1 << 20

var (
	errMerge  = errors.New("the value of << is neither a mapping nor a sequence of mappings")
	errBinary = errors.New("!!binary is not supported; send base64 as a string")
	errName   = errors.New("the name of a member is neither a string nor a number nor a boolean")
)

// yamlWriter writes the nodes of a YAML document as JSON.
type yamlWriter struct {
	dst     []byte
	nodes   int // written or skipped so far
	depth   int
	aliases int // around the current node
	aliased int // bytes of the scalars inside aliases
}

// enter checks the limits at the start of a node; leave ends the node.
func (w *yamlWriter) enter() error {
	if w.depth++; w.depth > MaxDepth {
		return tooDeep(MaxDepth)
	}
	return w.count()
}

func (w *yamlWriter) leave() { w.depth-- }

// count counts a node.
func (w *yamlWriter) count() error {
	if w.nodes++; w.nodes > MaxTokens {
		return tooManyTokens(MaxTokens)
	}
	return nil
}

func (w *yamlWriter) value(node *yaml.Node) error {
	if err := w.enter(); err != nil {
		return err
	}
	defer w.leave()
	switch node.Kind {
	case yaml.MappingNode:
		w.dst = append(w.dst, '{')
		if err := w.members(node, map[string]int{}); err != nil {
			return err
		}
		w.dst = append(w.dst, '}')
		return nil
	case yaml.SequenceNode:
		return w.elements(node)
	case yaml.AliasNode:
		return w.alias(func() error { return w.value(node.Alias) })
	default:
		value, err := resolve(node)
		if err != nil {
			return atLine(node, err)
		}
		return w.scalar(node, value)
	}
}

func (w *yamlWriter) elements(node *yaml.Node) error {
	w.dst = append(w.dst, '[')
	for i, element := range node.Content {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		if err := w.value(element); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, ']')
	return nil
}

// alias calls write, which writes the target of an alias.
func (w *yamlWriter) alias(write func() error) error {
	w.aliases++
	defer func() { w.aliases-- }()
	return write()
}

// members writes the members of a mapping, then those of its merge keys. written maps each name so far to the number of its mapping,
// because a mapping overrides the mappings that it merges, and the first merged mapping overrides the others.
func (w *yamlWriter) members(node *yaml.Node, written map[string]int) error {
	mapping := w.nodes
	var merges []*yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		name, err := nameOf(key)
		if err != nil {
			return atLine(key, err)
		}
		if from, found := written[name]; found && from != mapping {
			if err := w.count(); err != nil {
				return err
			}
			continue
		}
		if len(written) > 0 {
			w.dst = append(w.dst, ',')
		}
		written[name] = mapping
		if err := w.scalar(key, name); err != nil {
			return err
		}
		w.dst = append(w.dst, ':')
		if err := w.value(value); err != nil {
			return err
		}
	}
	for _, source := range merges {
		if err := w.merge(source, written); err != nil {
			return err
		}
	}
	return nil
}

// merge writes the members of source that are not written yet.
func (w *yamlWriter) merge(source *yaml.Node, written map[string]int) error {
	if err := w.enter(); err != nil {
		return err
	}
	defer w.leave()
	switch source.Kind {
	case yaml.MappingNode:
		return w.members(source, written)
	case yaml.AliasNode:
		return w.alias(func() error { return w.merge(source.Alias, written) })
	case yaml.SequenceNode:
		for _, element := range source.Content {
			if err := w.merge(element, written); err != nil {
				return err
			}
		}
		return nil
	default:
		return atLine(source, errMerge)
	}
}

// scalar writes a scalar or a member name; node is an alias if the name is the target of one.
func (w *yamlWriter) scalar(node *yaml.Node, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return atLine(node, err)
	}
	w.dst = append(w.dst, text...)
	if w.aliases > 0 || node.Kind == yaml.AliasNode {
		w.aliased += len(text)
	}
	if w.aliased > maxAliased {
		return &LimitError{What: "bytes from YAML aliases", Limit: maxAliased}
	}
	return nil
}

func atLine(node *yaml.Node, err error) error {
	return &SyntaxError{Format: "yaml", Err: fmt.Errorf("line %d: %w", node.Line, err)}
}
