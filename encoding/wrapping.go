package encoding

import (
	"slices"

	"revtail/encoding/jsontext"
)

// Wrapping is an object to be made of a value that is none.
type Wrapping struct {
	Identity
	UID         string
	Annotations [][2]string // names and values, in the order of the output
	Members     [][2]string // names of members beside the metadata, and their values as compact JSON
}

// Object returns the object, without a resourceVersion if resourceVersion is zero.
func (w Wrapping) Object(resourceVersion int64) (Object, error) {
	doc := append(appendTypeMeta(nil, w.APIVersion, w.Kind), `"metadata":{"name":`...)
	doc = jsontext.AppendString(doc, w.Name)
	if w.Namespace != "" {
		doc = jsontext.AppendString(append(doc, `,"namespace":`...), w.Namespace)
	}
	doc = jsontext.AppendString(append(doc, `,"uid":`...), w.UID)
	for i, annotation := range w.Annotations {
		separator := `,"annotations":{`
		if i > 0 {
			separator = ","
		}
		doc = append(jsontext.AppendString(append(doc, separator...), annotation[0]), ':')
		doc = jsontext.AppendString(doc, annotation[1])
	}
	if len(w.Annotations) > 0 {
		doc = append(doc, '}')
	}
	doc = append(doc, '}')
	for _, member := range w.Members {
		doc = append(append(jsontext.AppendString(append(doc, ','), member[0]), ':'), member[1]...)
	}
	doc = append(doc, '}')
	if resourceVersion == 0 {
		return Object{JSON: slices.Clip(doc)}, nil
	}
	return Normalize(doc, w.Identity, resourceVersion)
}
