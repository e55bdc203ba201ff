package response

import (
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"

	"revtail/encoding/projection"
	"revtail/encoding/protobuf"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
	"revtail/gateway/http/table"
	"revtail/gateway/resource"
)

// Kind is the kind of a response.
type Kind int

// The kinds.
const (
	Object Kind = iota
	List
	Watch
	// Review is an object that answers a question and is not stored. Clients get no Table of it.
	Review
)

// Protobuf is what of a response has a protobuf form.
type Protobuf int

// The values of Protobuf.
const (
	NoProtobuf Protobuf = iota
	// MetadataProtobuf: PartialObjectMetadata, as of custom resources.
	MetadataProtobuf
	// ObjectProtobuf: the objects too, as of built-in kinds. A Table never has a protobuf form.
	ObjectProtobuf
)

// has reports whether an object has a protobuf form as it is, or as the kind that the parameter "as" names.
func (p Protobuf) has(as string) bool {
	switch as {
	case "":
		return p == ObjectProtobuf
	case asMetadata, asMetadataList:
		return p >= MetadataProtobuf
	}
	return false
}

// The values of the parameter "as" of a media type.
const (
	asTable        = "Table"
	asMetadata     = "PartialObjectMetadata"
	asMetadataList = "PartialObjectMetadataList"
)

// Representation is the form of a response that was negotiated with the client: a view of objects and a format.
type Representation struct {
	As          string                     // one of the values above; empty: the object's own kind
	apiVersion  string                     // of As, such as meta.k8s.io/v1
	include     metav1.IncludeObjectPolicy // the part of an object in a row of a Table
	yaml        bool
	pretty      bool
	Protobuf    bool                   // the view is encoded in protobuf, see MessageKind; there is no Format
	EventStream bool                   // a watch is an event stream (server-sent events)
	Fields      *projection.Projection // nil: the whole object
}

// Negotiate returns the representation of the first media range that the gateway can produce. The error is a Status: 406, or
// 400 for an unknown includeObject.
func Negotiate(r *http.Request, about Kind, offer Protobuf) (Representation, error) {
	var refusal error
	for _, c := range Accepted(r) {
		f, ok := c.representation(about)
		if !ok || f.Protobuf && !offer.has(f.As) {
			continue
		}
		switch {
		case f.As == asMetadata && about == List:
			refusal = NotAcceptable("you requested PartialObjectMetadata, but the requested object is a list")
		case f.As == asMetadataList && about != List:
			refusal = NotAcceptable("you requested PartialObjectMetadataList, but the requested object is not a list")
		default:
			return f, f.readInclude(r)
		}
	}
	if refusal != nil {
		return Representation{}, refusal
	}
	return Representation{}, NotAcceptable("only the following media types are accepted: " + strings.Join(mediaTypes(about, offer), ", "))
}

// mediaTypes returns the media types of a response. Like kube-apiserver it names protobuf where only metadata has that form.
func mediaTypes(about Kind, offer Protobuf) []string {
	switch {
	case about == Watch && offer == NoProtobuf:
		return []string{JSON}
	case about == Watch:
		return []string{JSON + streamParameter, protobuf.MediaType + streamParameter}
	case offer == NoProtobuf:
		return []string{JSON, YAML}
	}
	return []string{JSON, YAML, protobuf.MediaType}
}

// representation returns the representation of a media range. False: the gateway does not have it.
func (m MediaRange) representation(about Kind) (Representation, bool) {
	f := Representation{yaml: m.MediaType() == YAML, Protobuf: m.Media == protobuf.MediaType, pretty: m.Parameters["pretty"] == "1"}
	if about == Watch && m.Media == EventStream {
		return Representation{EventStream: true}, true
	}
	stream := m.Parameters["stream"]
	switch {
	case m.MediaType() == "" && !f.Protobuf,
		f.yaml && (about == Watch || stream != ""),
		stream != "" && stream != "watch":
		return Representation{}, false
	case !m.Transforms():
		return f, true
	}
	f.As = m.Parameters["as"]
	f.apiVersion = m.Parameters["g"] + "/" + m.Parameters["v"]
	known := f.apiVersion == metav1.SchemeGroupVersion.String() || f.apiVersion == metav1beta1.SchemeGroupVersion.String()
	return f, known && (f.As == asTable && about != Review || f.As == asMetadata || f.As == asMetadataList)
}

func (f *Representation) readInclude(r *http.Request) error {
	if f.As != asTable {
		return nil
	}
	f.include = metav1.IncludeObjectPolicy(request.Query(r).Get("includeObject"))
	switch f.include {
	case "", metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject:
		return nil
	}
	return status.BadRequest("Unable to convert to Table as requested: includeObject: Invalid value: %q: must be 'Metadata', 'Object', 'None', or empty", f.include)
}

// View returns the view of a resource's objects.
func (f Representation) View(res *resource.Resource) View {
	switch f.As {
	case asTable:
		v := &tableView{apiVersion: f.apiVersion, row: metadataView{f.apiVersion}, table: table.For(res), now: time.Now}
		switch f.include {
		case metav1.IncludeNone:
			v.row = nil
		case metav1.IncludeObject:
			v.row = PlainView{res}
		}
		return v
	case asMetadata, asMetadataList:
		return metadataView{apiVersion: f.apiVersion}
	}
	if f.Fields != nil {
		return ProjectedView{PlainView{res}, f.Fields}
	}
	return PlainView{res}
}

// TableForm says how a Table shows objects.
type TableForm struct {
	apiVersion string
	include    metav1.IncludeObjectPolicy
}

// TableForm returns the form of a Table; false: the representation is none.
func (f Representation) TableForm() (TableForm, bool) {
	return TableForm{f.apiVersion, f.include}, f.As == asTable
}

// Format returns the format for a request.
func (f Representation) Format(r *http.Request) Format {
	if f.yaml {
		return yamlFormat{}
	}
	return jsonFormat(f.pretty || wantsPretty(r))
}

func jsonFormat(pretty bool) Format {
	if pretty {
		return indentedFormat{}
	}
	return compactFormat{}
}

// FormatOf returns the format of a document that has no views, such as an error. A client that accepts neither JSON nor YAML gets JSON.
func FormatOf(r *http.Request) Format { return acceptedFormat(r, wantsPretty(r)) }

// CacheableFormat is FormatOf for a response that a shared cache may store: it does not depend on the User-Agent.
func CacheableFormat(r *http.Request) Format {
	pretty, _ := readPretty(r)
	return acceptedFormat(r, pretty)
}

func acceptedFormat(r *http.Request, pretty bool) Format {
	for _, c := range Accepted(r) {
		switch c.MediaType() {
		case JSON:
			return jsonFormat(pretty || c.Parameters["pretty"] == "1")
		case YAML:
			return yamlFormat{}
		}
	}
	return jsonFormat(pretty)
}
