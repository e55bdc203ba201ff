package gateway

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"

	"revtail/encoding/projection"
	"revtail/gateway/resource"
)

// subject is what an answer is about.
type subject int

const (
	anObject subject = iota
	aList
	aWatch
)

// What can be made of an object, or a list, for a client: the values of the parameter "as" of a media type.
const (
	asTable        = "Table"
	asMetadata     = "PartialObjectMetadata"
	asMetadataList = "PartialObjectMetadataList"
)

// form is how a client wants an answer: what is shown of an object, and how that is written.
type form struct {
	as         string                     // one of the above; empty: the object as it is
	apiVersion string                     // of what is made of it, such as meta.k8s.io/v1
	include    metav1.IncludeObjectPolicy // what of the object goes into a row of a Table
	yaml       bool
	pretty     bool
	events     bool                   // of a watch: as an event stream
	fields     *projection.Projection // nil: the whole object
}

// negotiateForm takes the first clause of the Accept header that can be satisfied. The error is a Status: 406, or 400 for an
// includeObject that there is not.
func negotiateForm(r *http.Request, about subject) (form, error) {
	var refusal error
	for _, c := range acceptedClauses(r) {
		f, ok := c.form(about)
		if !ok {
			continue
		}
		if mismatch := f.mismatch(about); mismatch != "" {
			refusal = notAcceptable(mismatch)
			continue
		}
		return f, f.readInclude(r)
	}
	if refusal == nil {
		refusal = notAcceptable("only the following media types are accepted: " + acceptable(about))
	}
	return form{}, refusal
}

func acceptable(about subject) string {
	if about == aWatch {
		return jsonType
	}
	return jsonType + ", " + yamlType
}

// form is what a clause asks for. False: something that there is not.
func (c clause) form(about subject) (form, bool) {
	f := form{yaml: c.mediaType() == yamlType, pretty: c.parameters["pretty"] == "1"}
	if about == aWatch && c.media == eventStreamType {
		return form{events: true}, true
	}
	stream := c.parameters["stream"]
	switch {
	case c.mediaType() == "",
		f.yaml && (about == aWatch || stream != ""),
		stream != "" && stream != "watch":
		return form{}, false
	case !c.transforms():
		return f, true
	}
	f.as = c.parameters["as"]
	f.apiVersion = c.parameters["g"] + "/" + c.parameters["v"]
	known := f.apiVersion == metav1.SchemeGroupVersion.String() || f.apiVersion == metav1beta1.SchemeGroupVersion.String()
	return f, known && (f.as == asTable || f.as == asMetadata || f.as == asMetadataList)
}

// mismatch says why a form does not go with the subject of the answer; empty: it does.
func (f form) mismatch(about subject) string {
	switch {
	case f.as == asMetadata && about == aList:
		return "you requested PartialObjectMetadata, but the requested object is a list"
	case f.as == asMetadataList && about != aList:
		return "you requested PartialObjectMetadataList, but the requested object is not a list"
	}
	return ""
}

func (f *form) readInclude(r *http.Request) error {
	if f.as != asTable {
		return nil
	}
	f.include = metav1.IncludeObjectPolicy(queryOf(r).Get("includeObject"))
	switch f.include {
	case "", metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject:
		return nil
	}
	return badRequest("Unable to convert to Table as requested: includeObject: Invalid value: %q: must be 'Metadata', 'Object', 'None', or empty", f.include)
}

// view is how objects of a resource look in this form.
func (f form) view(res *resource.Resource) view {
	switch f.as {
	case asTable:
		return newTableView(f, res)
	case asMetadata, asMetadataList:
		return metadataView{apiVersion: f.apiVersion}
	}
	if f.fields != nil {
		return projectedView{plainView{res}, f.fields}
	}
	return plainView{res}
}

// format is how documents are written in this form.
func (f form) format(r *http.Request) format {
	if f.yaml {
		return yamlFormat{}
	}
	return jsonFormat(f.pretty || wantsPretty(r))
}

func jsonFormat(pretty bool) format {
	if pretty {
		return indentedFormat{}
	}
	return compactFormat{}
}

// formatOf is how a document that is not to be transformed, such as an error, is written for a client. One that takes
// neither JSON nor YAML gets JSON.
func formatOf(r *http.Request) format { return acceptedFormat(r, wantsPretty(r)) }

// cacheableFormat is formatOf for an answer that a cache may give to other clients too: it does not depend on the User-Agent.
func cacheableFormat(r *http.Request) format {
	pretty, _ := readPretty(r)
	return acceptedFormat(r, pretty)
}

func acceptedFormat(r *http.Request, pretty bool) format {
	for _, c := range acceptedClauses(r) {
		switch c.mediaType() {
		case jsonType:
			return jsonFormat(pretty || c.parameters["pretty"] == "1")
		case yamlType:
			return yamlFormat{}
		}
	}
	return jsonFormat(pretty)
}
