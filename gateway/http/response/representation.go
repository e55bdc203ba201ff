package response

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"

	"revtail/encoding/projection"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// Kind is what an answer is about.
type Kind int

const (
	Object Kind = iota
	List
	Watch
)

// What can be made of an object, or a list, for a client: the values of the parameter "as" of a media type.
const (
	asTable        = "Table"
	asMetadata     = "PartialObjectMetadata"
	asMetadataList = "PartialObjectMetadataList"
)

// Representation is how a client wants an answer: what is shown of an object, and how that is written.
type Representation struct {
	As          string                     // one of the above; empty: the object as it is
	apiVersion  string                     // of what is made of it, such as meta.k8s.io/v1
	include     metav1.IncludeObjectPolicy // what of the object goes into a row of a Table
	yaml        bool
	pretty      bool
	EventStream bool                   // of a watch: as an event stream
	Fields      *projection.Projection // nil: the whole object
}

// NegotiateRepresentation takes the first clause of the Accept header that can be satisfied. The error is a Status: 406, or 400 for an
// includeObject that there is not.
func NegotiateRepresentation(r *http.Request, about Kind) (Representation, error) {
	var refusal error
	for _, c := range Accepted(r) {
		f, ok := c.representation(about)
		if !ok {
			continue
		}
		if mismatch := f.mismatch(about); mismatch != "" {
			refusal = NotAcceptable(mismatch)
			continue
		}
		return f, f.readInclude(r)
	}
	if refusal == nil {
		refusal = NotAcceptable("only the following media types are accepted: " + acceptable(about))
	}
	return Representation{}, refusal
}

func acceptable(about Kind) string {
	if about == Watch {
		return JSON
	}
	return JSON + ", " + YAML
}

// representation is what a clause asks for. False: something that there is not.
func (c Clause) representation(about Kind) (Representation, bool) {
	f := Representation{yaml: c.MediaType() == YAML, pretty: c.Parameters["pretty"] == "1"}
	if about == Watch && c.Media == EventStream {
		return Representation{EventStream: true}, true
	}
	stream := c.Parameters["stream"]
	switch {
	case c.MediaType() == "",
		f.yaml && (about == Watch || stream != ""),
		stream != "" && stream != "watch":
		return Representation{}, false
	case !c.Transforms():
		return f, true
	}
	f.As = c.Parameters["as"]
	f.apiVersion = c.Parameters["g"] + "/" + c.Parameters["v"]
	known := f.apiVersion == metav1.SchemeGroupVersion.String() || f.apiVersion == metav1beta1.SchemeGroupVersion.String()
	return f, known && (f.As == asTable || f.As == asMetadata || f.As == asMetadataList)
}

// mismatch says why a form does not go with the subject of the answer; empty: it does.
func (f Representation) mismatch(about Kind) string {
	switch {
	case f.As == asMetadata && about == List:
		return "you requested PartialObjectMetadata, but the requested object is a list"
	case f.As == asMetadataList && about != List:
		return "you requested PartialObjectMetadataList, but the requested object is not a list"
	}
	return ""
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

// View is how objects of a resource look in this form.
func (f Representation) View(res *resource.Resource) View {
	switch f.As {
	case asTable:
		return newTableView(f, res)
	case asMetadata, asMetadataList:
		return metadataView{apiVersion: f.apiVersion}
	}
	if f.Fields != nil {
		return ProjectedView{PlainView{res}, f.Fields}
	}
	return PlainView{res}
}

// Format is how documents are written in this form.
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

// FormatOf is how a document that is not to be transformed, such as an error, is written for a client. One that takes
// neither JSON nor YAML gets JSON.
func FormatOf(r *http.Request) Format { return acceptedFormat(r, wantsPretty(r)) }

// CacheableFormat is FormatOf for an answer that a cache may give to other clients too: it does not depend on the User-Agent.
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
