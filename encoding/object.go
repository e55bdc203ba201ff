package encoding

import "slices"

// Identity is what the key of a stored value says about the object in it.
// Its strings are valid UTF-8; an empty Namespace means that the resource has none.
type Identity struct {
	APIVersion string // such as "apps/v1"
	Kind       string
	Namespace  string
	Name       string
}

// Object is a document as it is served, and where in it stands what lists and watches select by. Objects are shared: never
// modify one.
type Object struct {
	JSON []byte // the document, on one line, without a newline at its end

	labelsStart, labelsEnd uint32 // of the value of metadata.labels in JSON; equal if there are none
}

// Labels are the object's labels.
func (o Object) Labels() Labels { return Labels(o.JSON[o.labelsStart:o.labelsEnd]) }

// At returns the object with doc, a copy of its JSON, in the place of that.
func (o Object) At(doc []byte) Object {
	o.JSON = doc
	return o
}

// Normalize turns a stored value into the document to be served for it.
//
// The document is value with apiVersion, kind, metadata.name and metadata.namespace as id has them (the key is the truth,
// whatever value says) and with metadata.resourceVersion. Everything else is kept, numbers to the last digit, and so is the
// order of the members. Values written by Marshal are not decoded for this; white space, duplicate members and the like,
// in values that other programs wrote, are mended.
//
// Normalize does not keep value and does not modify it. The error is a *DecodeError: value is not a JSON object, not valid
// UTF-8, nested deeper than 10,000 levels, or its metadata, labels or uid are of the wrong type.
func Normalize(value []byte, id Identity, resourceVersion int64) (Object, error) {
	if object, ok := splice(value, id, resourceVersion); ok {
		return object, nil
	}
	return mend(value, id, resourceVersion)
}

// header is what one scan of a stored value finds of the members that matter.
type header struct {
	scanner
	id       Identity
	seen     members
	metadata int // position after the brace of metadata
	labels   [2]int
}

// members is the set of members found so far, one bit for each.
type members uint8

const (
	hasKind members = 1 << iota
	hasAPIVersion
	hasMetadata
	hasName
	hasNamespace
	hasUID
	hasLabels
)

// splice is the way for values that Marshal wrote and whose identity is right: one scan, and one copy with the
// resourceVersion put in. It reports false if the value is anything else, with nothing said about what.
func splice(value []byte, id Identity, resourceVersion int64) (Object, bool) {
	h := header{scanner: scanner{doc: value}, id: id}
	if !h.object(h.topMember) || h.loose || h.pos != len(value) {
		return Object{}, false
	}
	want := hasKind | hasAPIVersion | hasMetadata | hasName
	if id.Namespace != "" {
		want |= hasNamespace
	}
	if h.seen&want != want {
		return Object{}, false
	}
	inserted := appendResourceVersion(make([]byte, 0, len(`"resourceVersion":"",`)+20), resourceVersion)
	inserted = append(inserted, ',') // metadata has a name at least
	doc := make([]byte, 0, len(value)+len(inserted))
	doc = append(doc, value[:h.metadata]...)
	doc = append(doc, inserted...)
	doc = append(doc, value[h.metadata:]...)
	object := Object{JSON: doc}
	if h.seen&hasLabels != 0 {
		object.labelsStart, object.labelsEnd = uint32(h.labels[0]+len(inserted)), uint32(h.labels[1]+len(inserted))
	}
	return object, true
}

// topMember steps over the value of a member of the document. It reports false for what splice cannot serve.
func (h *header) topMember(name []byte) bool {
	switch string(name) {
	case "kind":
		return h.once(hasKind) && h.equals(h.id.Kind)
	case "apiVersion":
		return h.once(hasAPIVersion) && h.equals(h.id.APIVersion)
	case "metadata":
		if !h.once(hasMetadata) || h.peek() != '{' {
			return false
		}
		h.metadata = h.pos + 1
		return h.object(h.metadataMember)
	default:
		return !disguised(name, "kind", "apiVersion", "metadata") && h.skip()
	}
}

func (h *header) metadataMember(name []byte) bool {
	switch string(name) {
	case "name":
		return h.once(hasName) && h.equals(h.id.Name)
	case "namespace":
		return h.once(hasNamespace) && h.id.Namespace != "" && h.equals(h.id.Namespace)
	case "uid":
		return h.once(hasUID) && h.peek() == '"' && h.skip()
	case "labels":
		h.peek()
		h.labels[0] = h.pos
		ok := h.once(hasLabels) && h.object(h.label)
		h.labels[1] = h.pos
		return ok
	case "resourceVersion":
		return false
	default:
		return !disguised(name, "name", "namespace", "uid", "labels", "resourceVersion") && h.skip()
	}
}

// disguised tells whether a name means one of those given, written with escapes.
func disguised(name []byte, as ...string) bool {
	return escaped(name) && slices.Contains(as, unquote(name))
}

// label steps over a value that has to be a string.
func (h *header) label([]byte) bool { return h.peek() == '"' && h.skip() }

// once notes a member, and reports false if it was there before.
func (h *header) once(member members) bool {
	first := h.seen&member == 0
	h.seen |= member
	return first
}

// equals steps over a string and reports whether it is want, as Marshal writes it.
func (h *header) equals(want string) bool {
	if h.peek() != '"' {
		return false
	}
	text, ok := h.str()
	return ok && string(text) == want && !escaped(text)
}
