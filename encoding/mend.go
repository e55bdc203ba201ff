package encoding

import "strconv"

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
	object := Object{}
	if object.Labels, err = labelsOf(metadata); err != nil {
		return Object{}, err
	}
	if object.UID, err = uidOf(metadata); err != nil {
		return Object{}, err
	}
	identify(doc, metadata, id)
	metadata.remove("resourceVersion")
	metadata.setFirst("resourceVersion", quoted(strconv.FormatInt(resourceVersion, 10)))
	object.JSON = appendOrdered(make([]byte, 0, len(value)+256), doc)
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

func labelsOf(metadata *ordered) (map[string]string, error) {
	value, found := metadata.values["labels"]
	if !found || isNull(value) {
		return nil, nil
	}
	labels, ok := value.(*ordered)
	if !ok {
		return nil, &DecodeError{Reason: "metadata.labels is not an object"}
	}
	if len(labels.names) == 0 {
		return nil, nil
	}
	texts := make(map[string]string, len(labels.names))
	for name, value := range labels.values {
		if texts[name], ok = textOf(value); !ok {
			return nil, &DecodeError{Reason: "metadata.labels has a value that is not a string"}
		}
	}
	return texts, nil
}

func uidOf(metadata *ordered) (string, error) {
	value, found := metadata.values["uid"]
	if !found || isNull(value) {
		return "", nil
	}
	uid, ok := textOf(value)
	if !ok {
		return "", &DecodeError{Reason: "metadata.uid is not a string"}
	}
	return uid, nil
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
