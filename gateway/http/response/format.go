package response

import (
	"bytes"

	"revtail/encoding"
	"revtail/encoding/jsontext"
)

// Format encodes JSON documents for a client. It encodes a list in parts, so that memory does not hold all of it.
type Format interface {
	ContentType() string
	// appendDocument appends a document and a newline.
	appendDocument(dst, doc []byte) []byte
	// AppendHead appends the beginning of a list, given up to the bracket before the first item.
	AppendHead(dst, head []byte) []byte
	AppendItem(dst, item []byte, first bool) []byte
	// AppendTail ends a list, which may be empty.
	AppendTail(dst []byte, empty bool) []byte
}

// compactFormat is JSON on one line, as documents are stored.
type compactFormat struct{}

func (compactFormat) ContentType() string { return JSON }

func (compactFormat) appendDocument(dst, doc []byte) []byte {
	return append(append(dst, bytes.TrimSuffix(doc, []byte("\n"))...), '\n')
}

func (compactFormat) AppendHead(dst, head []byte) []byte { return append(dst, head...) }

func (compactFormat) AppendItem(dst, item []byte, first bool) []byte {
	if !first {
		dst = append(dst, ',')
	}
	return append(dst, item...)
}

func (compactFormat) AppendTail(dst []byte, _ bool) []byte { return encoding.AppendListTail(dst) }

// indentedFormat is indented JSON.
type indentedFormat struct{}

func (indentedFormat) ContentType() string { return JSON }

func (indentedFormat) appendDocument(dst, doc []byte) []byte {
	indented, err := jsontext.Indent(doc)
	if err != nil { // not reached: documents are valid JSON
		indented = doc
	}
	return compactFormat{}.appendDocument(dst, indented)
}

func (f indentedFormat) AppendHead(dst, head []byte) []byte {
	empty := f.appendDocument(nil, encoding.AppendListTail(head[:len(head):len(head)]))
	return append(dst, bytes.TrimSuffix(empty, []byte("]\n}\n"))...)
}

func (f indentedFormat) AppendItem(dst, item []byte, first bool) []byte {
	if !first {
		dst = append(dst, ',')
	}
	return appendLines(dst, f.appendDocument(nil, item), "\n    ", "\n    ")
}

func (indentedFormat) AppendTail(dst []byte, empty bool) []byte {
	if !empty {
		dst = append(dst, "\n  "...)
	}
	return append(dst, "]\n}\n"...)
}

// yamlFormat is YAML in block style.
type yamlFormat struct{}

func (yamlFormat) ContentType() string { return YAML }

func (yamlFormat) appendDocument(dst, doc []byte) []byte {
	text, err := encoding.YAML(doc)
	if err != nil { // not reached: documents are valid JSON, and JSON is YAML
		text = doc
	}
	return append(dst, text...)
}

func (f yamlFormat) AppendHead(dst, head []byte) []byte {
	empty := f.appendDocument(nil, encoding.AppendListTail(head[:len(head):len(head)]))
	return append(dst, bytes.TrimSuffix(empty, []byte(" []\n"))...)
}

func (f yamlFormat) AppendItem(dst, item []byte, _ bool) []byte {
	return appendLines(dst, f.appendDocument(nil, item), "\n- ", "\n  ")
}

func (yamlFormat) AppendTail(dst []byte, empty bool) []byte {
	if empty {
		dst = append(dst, " []"...)
	}
	return append(dst, '\n')
}

// appendLines appends the lines of text: the first one after before, the others after between. An empty line stays empty.
func appendLines(dst, text []byte, before, between string) []byte {
	lead := before
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSuffix(line, []byte("\n")); len(line) == 0 {
			lead = "\n"
		}
		dst = append(append(dst, lead...), line...)
		lead = between
	}
	return dst
}
