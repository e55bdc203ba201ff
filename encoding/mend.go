package encoding

import (
	"slices"
	"strconv"

	"revtail/encoding/jsontext"
)

// mend is Normalize for the values that splice does not accept: it decodes, corrects and encodes them.
func mend(value []byte, id Identity, resourceVersion int64) (Object, error) {
	decoded, err := jsontext.Parse(value)
	if err != nil {
		return Object{}, err
	}
	doc, ok := decoded.(*jsontext.Object)
	if !ok {
		return Object{}, jsontext.ErrNotObject
	}
	metadata, err := metadataOf(doc)
	if err != nil {
		return Object{}, err
	}
	if err := mendLabels(metadata); err != nil {
		return Object{}, err
	}
	if uid, found := metadata.Values["uid"]; found && !isNull(uid) && !isString(uid) {
		return Object{}, &jsontext.DecodeError{Reason: "metadata.uid is not a string"}
	}
	identify(doc, metadata, id)
	metadata.Remove("resourceVersion")
	metadata.SetFirst("resourceVersion", quoted(strconv.FormatInt(resourceVersion, 10)))
	object := Object{JSON: slices.Clip(jsontext.AppendParsed(make([]byte, 0, len(value)+256), doc))}
	object.labelsStart, object.labelsEnd = findLabels(object.JSON)
	return object, nil
}

// identify sets the members that the key determines. It puts missing members first, in the order of Marshal.
func identify(doc, metadata *jsontext.Object, id Identity) {
	doc.SetFirst("metadata", metadata)
	doc.SetFirst("apiVersion", quoted(id.APIVersion))
	doc.SetFirst("kind", quoted(id.Kind))
	if id.Namespace == "" {
		metadata.Remove("namespace")
	} else {
		metadata.SetFirst("namespace", quoted(id.Namespace))
	}
	metadata.SetFirst("name", quoted(id.Name))
}

func quoted(text string) jsontext.Scalar { return jsontext.AppendString(nil, text) }

// metadataOf returns the metadata of doc, or new metadata if doc has none.
func metadataOf(doc *jsontext.Object) (*jsontext.Object, error) {
	value, found := doc.Values["metadata"]
	if !found || isNull(value) {
		return jsontext.NewObject(), nil
	}
	metadata, ok := value.(*jsontext.Object)
	if !ok {
		return nil, &jsontext.DecodeError{Reason: "metadata is not an object"}
	}
	return metadata, nil
}

// mendLabels replaces labels that are null by empty strings, because the clients of Kubernetes read them so, and refuses labels of
// other types.
func mendLabels(metadata *jsontext.Object) error {
	value, found := metadata.Values["labels"]
	if !found || isNull(value) {
		return nil
	}
	labels, ok := value.(*jsontext.Object)
	if !ok {
		return &jsontext.DecodeError{Reason: "metadata.labels is not an object"}
	}
	for name, value := range labels.Values {
		switch {
		case isNull(value):
			labels.Values[name] = quoted("")
		case !isString(value):
			return &jsontext.DecodeError{Reason: "metadata.labels has a value that is not a string"}
		}
	}
	return nil
}

func isString(value any) bool {
	scalar, ok := value.(jsontext.Scalar)
	if ok {
		_, ok = scalar.Text()
	}
	return ok
}

func isNull(value any) bool {
	scalar, ok := value.(jsontext.Scalar)
	return ok && string(scalar) == "null"
}
