package api

import (
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"revtail/encoding/codec"
	"revtail/gateway/access"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/object"
	"revtail/gateway/api/storage"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache/filter"
)

// listOptions reads the query of a list or a watch, and the representation that its client asks for.
func (h *Handler) listOptions(w http.ResponseWriter, r *http.Request, t catalog.Target, kind response.Kind) (request.ListOptions, response.Representation, error) {
	p, err := request.ParseListOptions(r, kind == response.Watch)
	if err == nil {
		err = h.parseAt(w, r, t, &p)
	}
	if err == nil {
		p.Filter, err = h.filterOf(r)
	}
	if err != nil {
		return p, response.Representation{}, err
	}
	f, err := h.negotiate(r, t, kind)
	return p, f, err
}

// negotiate returns the representation of a response, with the projection that fields= selects. It refuses a filter for one object,
// because that would be ignored.
func (h *Handler) negotiate(r *http.Request, t catalog.Target, kind response.Kind) (response.Representation, error) {
	query := request.Query(r)
	if (kind == response.Object || kind == response.Review) && query.Get("filter") != "" {
		return response.Representation{}, status.BadRequest("filter is for lists and watches: ask for a list, which fieldSelector=metadata.name=NAME makes one of a single object")
	}
	fields, err := h.Filters.ObjectFields(strings.Join(query["fields"], ","))
	if err != nil {
		return response.Representation{}, err
	}
	f, err := response.Negotiate(r, kind, protobufOf(t))
	if err == nil && fields != nil && f.As != "" {
		err = status.BadRequest("fields is for objects as they are, and Accept asks for a %s: leave one of them out", f.As)
	}
	f.Fields = fields
	return f, err
}

// filterOf returns the filter of a list or a watch; nil: it has none. Compiling one is work of the caller's choice.
func (h *Handler) filterOf(r *http.Request) (f *filter.Filter, err error) {
	given := request.Query(r)["filter"]
	switch len(given) {
	case 0:
		return nil, nil
	case 1:
		overload := h.Watches.Processor.Do(access.AccountOf(r), func() { f, err = h.Filters.Objects(given[0]) })
		return f, cmp.Or(overload, err)
	}
	return nil, status.BadRequest("filter is given %d times: join the expressions by &&", len(given))
}

// optionsKinds are the kinds of the options of a method, for messages.
var optionsKinds = map[string]string{http.MethodPost: "CreateOptions", http.MethodPut: "UpdateOptions", http.MethodPatch: "PatchOptions"}

// parseWriteOptions reads the options of a write from its query and headers, and checks them.
func parseWriteOptions(r *http.Request, ref resource.Ref) (p storage.Options, err error) {
	query := request.Query(r)
	options := metav1.PatchOptions{DryRun: query["dryRun"], FieldManager: query.Get("fieldManager"), FieldValidation: query.Get("fieldValidation")}
	if r.Method == http.MethodPatch {
		if p.PatchType, err = parsePatchType(r, ref); err != nil {
			return p, err
		}
		if values, ok := query["force"]; ok {
			p.Force = request.ParseBool(values[0])
			options.Force = &p.Force
		}
	}
	p.Sent = metav1.UpdateOptions{DryRun: options.DryRun, FieldManager: options.FieldManager, FieldValidation: options.FieldValidation}
	p.DryRun = len(options.DryRun) > 0
	p.Manager = cmp.Or(options.FieldManager, request.Program(r.UserAgent()))
	p.Validation = cmp.Or(options.FieldValidation, metav1.FieldValidationWarn)
	// The rules for patches include those for every write.
	return p, invalidOptions(optionsKinds[r.Method], metavalidation.ValidatePatchOptions(&options, p.PatchType))
}

// parsePatchType returns the type of the patch in a request, by its Content-Type.
func parsePatchType(r *http.Request, ref resource.Ref) (types.PatchType, error) {
	accepted := ref.ViewKind().PatchTypes()
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // a malformed one is none
	if !slices.Contains(accepted, media) {
		return "", &codec.UnsupportedMediaTypeError{Accepted: accepted}
	}
	return types.PatchType(media), nil
}

// parseDeleteOptions reads the options of a delete from the body or, if that is empty, from the query.
func parseDeleteOptions(w http.ResponseWriter, r *http.Request, res *resource.Resource) (*metav1.DeleteOptions, error) {
	body, err := request.ReadBody(w, r)
	if err != nil {
		return nil, err
	}
	options := &metav1.DeleteOptions{}
	if len(body) > 0 {
		err = decodeDeleteOptions(r.Header.Get("Content-Type"), body, res, options)
	} else {
		err = queryDeleteOptions(request.Query(r), options)
	}
	if err != nil {
		return nil, err
	}
	return options, invalidOptions("DeleteOptions", metavalidation.ValidateDeleteOptions(options))
}

func decodeDeleteOptions(contentType string, body []byte, res *resource.Resource, options *metav1.DeleteOptions) error {
	decoded, err := object.DecodeBody(res, contentType, body)
	if err != nil {
		if status.Of(err).Code == http.StatusUnsupportedMediaType {
			return err
		}
		return status.BadRequest("the DeleteOptions could not be read: %v", err)
	}
	if kind, ok := decoded.Object["kind"]; ok && kind != "DeleteOptions" {
		return status.BadRequest("the body of a DELETE must be of kind DeleteOptions, not %v", kind)
	}
	text, err := json.Marshal(decoded.Object)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(text, options)
	}
	if err != nil {
		return status.BadRequest("the DeleteOptions could not be read: %v", err)
	}
	return nil
}

func queryDeleteOptions(query url.Values, options *metav1.DeleteOptions) error {
	if err := metav1.Convert_url_Values_To_v1_DeleteOptions(&query, options, nil); err != nil {
		return status.BadRequest("%v", err)
	}
	options.Preconditions, options.IgnoreStoreReadErrorWithClusterBreakingPotential = nil, nil // only a body has them
	return nil
}

func invalidOptions(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}
