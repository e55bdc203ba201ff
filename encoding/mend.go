package encoding

import (
	"slices"
	"strconv"
)

// mend is the way for the values splice does not serve: decode, correct, encode.
func mend(value []byte, id Identity, resourceVersion int64) (Object, error) {
	s := scanner{doc: value}
	decoded, ok := s.value()
	if !ok || !s.end() {
		return Object{}, refuse(value)
	}
	doc, ok := decoded.(*ordered)
	if !ok {
		return Object{}, errNotObject()
	}
	metadata, err := metadataOf(doc)
	if err != nil {
		return Object{}, err
	}
	if err := mendLabels(metadata); err != nil {
		return Object{}, err
	}
	if err := checkUID(metadata); err != nil {
		return Object{}, err
	}
	identify(doc, metadata, id)
	metadata.remove("resourceVersion")
	metadata.setFirst("resourceVersion", quoted(strconv.FormatInt(resourceVersion, 10)))
	object := Object{JSON: slices.Clip(appendOrdered(make([]byte, 0, len(value)+256), doc))}
	object.labelsStart, object.labelsEnd = findLabels(object.JSON)
	return object, nil
}

// identify sets what the key says. Members that are missing go to the front, in the order of Marshal.
func identify(doc, metadata *ordered, id Identity) {
	doc.setFirst("metadata", metadata)
	doc.setFirst("apiVersion", quoted(id.APIVersion))
	doc.setFirst("kind", quoted(id.Kind))
	if id.Namespace == "" {
		metadata.remove("namespace")
	} else {
		metadata.setFirst("namespace", quoted(id.Namespace))
	}
	metadata.setFirst("name", quoted(id.Name))
}

func quoted(text string) []byte { return appendString(nil, text) }

// metadataOf returns the metadata of doc, a new and empty one if doc has none.
func metadataOf(doc *ordered) (*ordered, error) {
	value, found := doc.values["metadata"]
	if !found || isNull(value) {
		return &ordered{values: map[string]any{}}, nil
	}
	metadata, ok := value.(*ordered)
	if !ok {
		return nil, &DecodeError{Reason: "metadata is not an object"}
	}
	return metadata, nil
}

// mendLabels sees to it that labels are strings. Those that are null are empty ones, as Kubernetes' clients read them.
func mendLabels(metadata *ordered) error {
	value, found := metadata.values["labels"]
	if !found || isNull(value) {
		return nil
	}
	labels, ok := value.(*ordered)
	if !ok {
		return &DecodeError{Reason: "metadata.labels is not an object"}
	}
	for name, value := range labels.values {
		switch {
		case isNull(value):
			labels.values[name] = quoted("")
		case !isString(value):
			return &DecodeError{Reason: "metadata.labels has a value that is not a string"}
		}
	}
	return nil
}

func checkUID(metadata *ordered) error {
	value, found := metadata.values["uid"]
	if !found || isNull(value) || isString(value) {
		return nil
	}
	return &DecodeError{Reason: "metadata.uid is not a string"}
}

func isString(value any) bool {
	_, ok := textOf(value)
	return ok
}

// textOf returns the string that a decoded value is.
func textOf(value any) (string, bool) {
	text, ok := value.([]byte)
	if !ok || text[0] != '"' {
		return "", false
	}
	return unquote(text[1 : len(text)-1]), true
}

func isNull(value any) bool {
	text, ok := value.([]byte)
	return ok && string(text) == "null"
}
