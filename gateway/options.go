package gateway

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// writeParams are the query parameters of a write.
type writeParams struct {
	dryRun     bool
	validation string // metav1.FieldValidationIgnore, Warn or Strict
	manager    string // who makes the change: fieldManager or, where that is not given, the program that asks
	patchType  types.PatchType
	force      bool // of an applied configuration: take over the fields that others manage
}

// writeOptions are the kinds by which messages call the parameters of a method.
var writeOptions = map[string]string{http.MethodPost: "CreateOptions", http.MethodPut: "UpdateOptions", http.MethodPatch: "PatchOptions"}

// parseWriteParams reads and checks them.
func parseWriteParams(r *http.Request, t target) (p writeParams, err error) {
	query := queryOf(r)
	options := metav1.PatchOptions{DryRun: query["dryRun"], FieldManager: query.Get("fieldManager"), FieldValidation: query.Get("fieldValidation")}
	if r.Method == http.MethodPatch {
		if p.patchType, err = parsePatchType(r, t); err != nil {
			return p, err
		}
		if values, ok := query["force"]; ok {
			p.force = parseBool(values[0])
			options.Force = &p.force
		}
	}
	p.dryRun = len(options.DryRun) > 0
	p.manager = options.FieldManager
	if p.manager == "" {
		p.manager = programOf(r.UserAgent())
	}
	p.validation = options.FieldValidation
	if p.validation == "" {
		p.validation = metav1.FieldValidationWarn
	}
	// What holds for every write is checked the same for all of them; for patches there is more.
	return p, invalidOptions(writeOptions[r.Method], metavalidation.ValidatePatchOptions(&options, p.patchType))
}

// programOf is what a User-Agent header says before its first slash, as the name of a field manager.
func programOf(userAgent string) string {
	name, _, _ := strings.Cut(userAgent, "/")
	var out strings.Builder
	for _, c := range name {
		if !unicode.IsPrint(c) {
			continue
		}
		if out.Len()+utf8.RuneLen(c) > metavalidation.FieldManagerMaxLength {
			break
		}
		out.WriteRune(c)
	}
	return out.String()
}

// parseDeleteOptions reads them from the body or, where that is empty, from the query.
func parseDeleteOptions(w http.ResponseWriter, r *http.Request, t target) (*metav1.DeleteOptions, error) {
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	options := &metav1.DeleteOptions{}
	if len(body) > 0 {
		err = decodeDeleteOptions(r.Header.Get("Content-Type"), body, t, options)
	} else {
		err = queryDeleteOptions(queryOf(r), options)
	}
	if err != nil {
		return nil, err
	}
	return options, invalidOptions("DeleteOptions", metavalidation.ValidateDeleteOptions(options))
}

func decodeDeleteOptions(contentType string, body []byte, t target, options *metav1.DeleteOptions) error {
	decoded, err := decode(t.Resource, contentType, body)
	if err != nil {
		if toStatus(err).Code == http.StatusUnsupportedMediaType {
			return err
		}
		return badRequest("the DeleteOptions could not be read: %v", err)
	}
	if kind, ok := decoded.Object["kind"]; ok && kind != "DeleteOptions" {
		return badRequest("the body of a DELETE must be of kind DeleteOptions, not %v", kind)
	}
	text, err := json.Marshal(decoded.Object)
	if err == nil {
		err = json.Unmarshal(text, options)
	}
	if err != nil {
		return badRequest("the DeleteOptions could not be read: %v", err)
	}
	return nil
}

func queryDeleteOptions(query url.Values, options *metav1.DeleteOptions) error {
	if query.Has("gracePeriodSeconds") {
		seconds, err := intParam(query, "gracePeriodSeconds")
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
		orphan := parseBool(values[0])
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
