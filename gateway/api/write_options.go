package api

import (
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/encoding/codec"
	"revtail/gateway/api/object"
	"revtail/gateway/api/storage"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

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
		err = json.Unmarshal(text, options)
	}
	if err != nil {
		return status.BadRequest("the DeleteOptions could not be read: %v", err)
	}
	return nil
}

func queryDeleteOptions(query url.Values, options *metav1.DeleteOptions) error {
	if query.Has("gracePeriodSeconds") {
		seconds, err := request.Int(query, "gracePeriodSeconds")
		if err != nil {
			return err
		}
		options.GracePeriodSeconds = &seconds
	}
	if query.Has("propagationPolicy") {
		policy := metav1.DeletionPropagation(query.Get("propagationPolicy"))
		options.PropagationPolicy = &policy
	}
	if values, ok := query["orphanDependents"]; ok {
		orphan := request.ParseBool(values[0])
		options.OrphanDependents = &orphan //nolint:staticcheck // old clients send it
	}
	options.DryRun = query["dryRun"]
	return nil
}

func invalidOptions(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}
