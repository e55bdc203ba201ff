package codec

import (
	"bytes"
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
		return nil, tooManyTokens()
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
