package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// maxIndicators is more than MaxTokens, since some indicators are text: in strings, in block scalars, in comments.
const maxIndicators = 2 * MaxTokens

// yamlToJSON rewrites a YAML body, one document, as JSON. Scalars mean what they mean to kubectl: YAML 1.1, so that a plain
// yes is true. Duplicate members stay duplicate.
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
	w := writer{dst: make([]byte, 0, len(body))}
	if err := w.value(document.Content[0]); err != nil {
		return nil, err
	}
	return w.dst, nil
}

// indicators counts what can begin a node of a YAML body. Each makes two nodes at most, and the parser builds them all before
// anything can be refused, so this has to be looked at first.
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
