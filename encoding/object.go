package encoding

import (
	"slices"

	"revtail/encoding/jsontext"
)

// Identity is the part of an object that the key of its stored value determines. Its strings are valid UTF-8. Namespace is empty for
// a resource without namespaces.
type Identity struct {
	APIVersion string // such as "apps/v1"
	Kind       string
	Namespace  string
	Name       string
}

// Object is a document for clients, with the positions of its labels. Objects are shared: never modify one.
type Object struct {
	JSON []byte // on one line, without a newline at its end
	Positions
}

// Positions says where the labels of a document are. A copy of the document has the same positions.
type Positions struct {
	labelsStart, labelsEnd uint32 // of the value of metadata.labels; equal: no labels
}

// Labels returns the labels of the object.
func (o Object) Labels() Labels { return Labels(o.JSON[o.labelsStart:o.labelsEnd]) }

// Terminating reports whether the object is being deleted.
func (o Object) Terminating() bool {
	_, terminating := jsontext.Lookup(o.JSON, deletionTimestamp)
	return terminating
}

var deletionTimestamp = []string{"metadata", "deletionTimestamp"}

// Normalize returns the document for a stored value.
//
// The document is value with apiVersion, kind, metadata.name and metadata.namespace of id, because the key overrides the value, and
// with metadata.resourceVersion. The order of all other members and the digits of numbers stay. Normalize does not decode values
// that Marshal wrote. In values of other programs it removes white space and duplicate members.
//
// Normalize neither keeps nor modifies value. The error is a *jsontext.DecodeError: value is not a JSON object, not valid UTF-8, nested
// deeper than 10,000 levels, or its metadata, labels or uid are of the wrong type.
func Normalize(value []byte, id Identity, resourceVersion int64) (Object, error) {
	return NormalizeIn(nil, value, id, resourceVersion)
}

// NormalizeIn is Normalize with memory for the document: the document may be in the capacity of buffer.
func NormalizeIn(buffer, value []byte, id Identity, resourceVersion int64) (Object, error) {
	if object, ok := splice(buffer, value, id, resourceVersion); ok {
		return object, nil
	}
	return mend(value, id, resourceVersion)
}

// header is a scan of a stored value for the members that Normalize checks.
type header struct {
	jsontext.Scanner
	id       Identity
	seen     members
	metadata int // position after the opening brace of metadata
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

// splice is Normalize for values that Marshal wrote with this identity: one scan, and one copy with the resourceVersion. It returns
// false for all other values.
func splice(buffer, value []byte, id Identity, resourceVersion int64) (Object, bool) {
	h := header{Scanner: jsontext.NewScanner(value), id: id}
	if !h.Object(h.topMember) || h.Loose() || h.Pos() != len(value) {
		return Object{}, false
	}
	want := hasKind | hasAPIVersion | hasMetadata | hasName
	if id.Namespace != "" {
		want |= hasNamespace
	}
	if h.seen&want != want {
		return Object{}, false
	}
	object := Object{JSON: insertResourceVersion(buffer, value, h.metadata, resourceVersion)}
	if h.seen&hasLabels != 0 {
		shift := len(object.JSON) - len(value)
		object.labelsStart, object.labelsEnd = uint32(h.labels[0]+shift), uint32(h.labels[1]+shift)
	}
	return object, true
}

// topMember steps over the value of a member of the document. It returns false if splice does not accept the member.
func (h *header) topMember(name []byte) bool {
	switch string(name) {
	case "kind":
		return h.once(hasKind) && h.equals(h.id.Kind)
	case "apiVersion":
		return h.once(hasAPIVersion) && h.equals(h.id.APIVersion)
	case "metadata":
		if !h.once(hasMetadata) || h.Peek() != '{' {
			return false
		}
		h.metadata = h.Pos() + 1
		return h.Object(h.metadataMember)
	default:
		return !disguised(name, "kind", "apiVersion", "metadata") && h.Skip()
	}
}

func (h *header) metadataMember(name []byte) bool {
	switch string(name) {
	case "name":
		return h.once(hasName) && h.equals(h.id.Name)
	case "namespace":
		return h.once(hasNamespace) && h.id.Namespace != "" && h.equals(h.id.Namespace)
	case "uid":
		return h.once(hasUID) && h.Peek() == '"' && h.Skip()
	case "labels":
		h.Peek()
		h.labels[0] = h.Pos()
		ok := h.once(hasLabels) && h.Object(h.label)
		h.labels[1] = h.Pos()
		return ok
	case "resourceVersion":
		return false
	default:
		return !disguised(name, "name", "namespace", "uid", "labels", "resourceVersion") && h.Skip()
	}
}

// disguised reports whether a name is one of the given names, written with escapes.
func disguised(name []byte, as ...string) bool {
	return jsontext.Escaped(name) && slices.Contains(as, jsontext.Unquote(name))
}

// label steps over the value of a label, which must be a string.
func (h *header) label([]byte) bool { return h.Peek() == '"' && h.Skip() }

// once records a member. It returns false for a duplicate.
func (h *header) once(member members) bool {
	first := h.seen&member == 0
	h.seen |= member
	return first
}

// equals steps over a string and reports whether it is want without escapes.
func (h *header) equals(want string) bool {
	if h.Peek() != '"' {
		return false
	}
	text, ok := h.Quoted()
	return ok && string(text) == want && !jsontext.Escaped(text)
}

// Labels is the text of metadata.labels in a document of Normalize: an object whose values are strings, or nothing. Its methods scan
// the text, because a map would need as much memory as a small document.
type Labels []byte

// Has reports whether a label exists.
func (l Labels) Has(name string) bool {
	_, found := l.Lookup(name)
	return found
}

// Get returns the value of a label, or an empty string if it does not exist.
func (l Labels) Get(name string) string {
	value, _ := l.Lookup(name)
	return value
}

// Lookup returns the value of a label, and whether the label exists. The value shares the memory of the document.
func (l Labels) Lookup(name string) (value string, found bool) {
	var raw []byte
	s := jsontext.NewScanner(l)
	for more := s.Accept('{'); more && s.Peek() == '"'; more = s.Accept(',') {
		label, _ := s.Quoted()
		s.Accept(':')
		s.Peek()
		text, ok := s.Quoted()
		if ok && jsontext.Equal(label, name) { // the last duplicate counts
			raw, found = text, true
		}
	}
	return jsontext.UnquoteShared(raw), found // a document never changes
}

// findLabels returns the start and the end of metadata.labels in a document without duplicate members; 0, 0: there are no labels.
func findLabels(doc []byte) (start, end uint32) {
	s, found := jsontext.Seek(doc, "metadata", "labels")
	if !found || s.Peek() != '{' {
		return 0, 0
	}
	start = uint32(s.Pos())
	s.Skip()
	return start, uint32(s.Pos())
}

// AppendMetadata appends a PartialObjectMetadata of the given apiVersion with a copy of the metadata of doc, a document of Normalize
// or Marshal.
func AppendMetadata(dst []byte, apiVersion string, doc []byte) []byte {
	dst = appendTypeMeta(dst, apiVersion, "PartialObjectMetadata")
	dst = append(dst, `"metadata":`...)
	s, _ := jsontext.Seek(doc, "metadata")
	if metadata, ok := s.Raw(); ok {
		return append(append(dst, metadata...), '}')
	}
	return append(dst, "{}}"...)
}

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
