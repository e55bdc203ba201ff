package gateway

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"revtail/gateway/resource"
)

// document is an object that a client writes.
type document struct {
	*unstructured.Unstructured
	findings []string // what fieldValidation is about: unknown and duplicate fields
}

func newDocument(object map[string]any) document {
	return document{Unstructured: &unstructured.Unstructured{Object: object}}
}

func (d document) copy() document { return document{Unstructured: d.DeepCopy(), findings: d.findings} }

// shallowCopy is for changes of the members of the document and of its metadata: what is in these is shared.
func (d document) shallowCopy() document {
	out := newDocument(withMember(d.Object, "metadata", maps.Clone(d.metadata())))
	out.findings = d.findings
	return out
}

// decode reads the body of a create or an update, which must be an object of the kind that the request sees.
func (wr *writeRequest) decode() (document, error) {
	decoded, err := decode(wr.ViewKind(), wr.contentType, wr.body)
	if err != nil {
		return document{}, decodeError(wr.ViewKind(), wr.body, err)
	}
	d := newDocument(decoded.Object)
	d.findings = duplicateFields(decoded.Duplicates)
	if err = d.checkKind(wr.ViewKind(), wr.body); err != nil {
		return document{}, err
	}
	cannotHandle := func(err error) error { return cannotHandle(wr.ViewKind(), err) }
	if err = d.checkTypes(wr.ViewKind()); err != nil {
		return document{}, cannotHandle(err)
	}
	return d, wr.validateFields(d.findings, cannotHandle)
}

// decodeError is a body that is no object, in the words of kube-apiserver.
func decodeError(res *resource.Resource, body []byte, err error) error {
	if toStatus(err).Code == http.StatusUnsupportedMediaType {
		return err
	}
	return badRequest("the object provided is unrecognized (must be of type %s): couldn't get version/kind; %v (%s)", res.Kind, err, excerpt(body))
}

// excerpt is the beginning of a body, for messages.
func excerpt(body []byte) string {
	const length = 40
	switch {
	case len(body) == 0:
		return "<empty>"
	case len(body) > length:
		return strings.ToValidUTF8(string(body[:length]), "�") + " ..."
	}
	return strings.ToValidUTF8(string(body), "�")
}

func cannotHandle(res *resource.Resource, err error) error {
	return badRequest("%s in version %q cannot be handled as a %s: %v", res.Kind, res.Version, res.Kind, err)
}

func (d document) checkKind(res *resource.Resource, body []byte) error {
	apiVersion, hasVersion := d.Object["apiVersion"].(string)
	kind, hasKind := d.Object["kind"].(string)
	switch {
	case !hasKind || kind == "":
		return badRequest("the object provided is unrecognized (must be of type %s): couldn't get version/kind; Object 'Kind' is missing in '%s'", res.Kind, excerpt(body))
	case !hasVersion || apiVersion == "":
		return badRequest("the object provided is unrecognized (must be of type %s): couldn't get version/kind; Object 'apiVersion' is missing in '%s'", res.Kind, excerpt(body))
	case apiVersion != res.APIVersion():
		return badRequest("the API version in the data (%s) does not match the expected API version (%s)", apiVersion, res.APIVersion())
	case kind != res.Kind:
		return apierrors.NewInvalid(schema.GroupKind{Group: res.Group, Kind: kind}, d.GetName(),
			field.ErrorList{field.Invalid(field.NewPath("kind"), kind, "must be "+res.Kind)})
	}
	return nil
}

// checkTypes checks the types of the fields that are known, as a typed client could not read an object in which they are
// wrong, and brings an object of a custom resource into the form in which it is stored. It adds to the findings.
func (d *document) checkTypes(res *resource.Resource) error {
	switch metadata := d.Object["metadata"].(type) {
	case nil:
		d.Object["metadata"] = map[string]any{}
	case map[string]any:
	default:
		return fmt.Errorf("json: cannot unmarshal %T into Go struct field %s.metadata of type v1.ObjectMeta", metadata, res.Kind)
	}
	if !d.fits(res) {
		if _, err := d.meta(); err != nil {
			return err
		}
		d.textsForNulls()
		check := d.checkGoType
		if res.GoType == nil {
			check = d.pruneMetadata
		}
		if err := check(res); err != nil {
			return err
		}
	}
	if res.Defaults != nil {
		res.Defaults(d.Object)
	}
	if res.Schema == nil {
		return nil
	}
	unknown, err := res.Schema.Complete(d.Object)
	for _, name := range unknown {
		d.findings = append(d.findings, fmt.Sprintf("unknown field %q", name))
	}
	return err
}

// textsForNulls makes empty texts of the labels and annotations that are null, as typed clients read them: what is stored is
// selected by without a type.
func (d *document) textsForNulls() {
	for _, member := range []string{"labels", "annotations"} {
		texts, _ := d.metadata()[member].(map[string]any)
		for name, text := range texts {
			if text == nil {
				texts[name] = ""
			}
		}
	}
}

// fits tells whether all fields that are known, and no others, are sure to have the right type.
func (d *document) fits(res *resource.Resource) bool {
	if res.GoType != nil {
		return shapeOf(reflect.TypeOf(res.GoType)).fits(d.Object)
	}
	return shapeOf(reflect.TypeFor[metav1.ObjectMeta]()).fits(d.Object["metadata"])
}

// checkGoType checks an object of a kind of which the Go type is known.
func (d *document) checkGoType(res *resource.Resource) error {
	_, err := d.readStrictly(d.Object, reflect.New(reflect.TypeOf(res.GoType)).Interface())
	return err
}

// pruneMetadata removes what no metadata has. A Go type is checked as a whole, and keeps what newer clients know.
func (d *document) pruneMetadata(*resource.Resource) error {
	typed := &struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}{}
	strict, err := d.readStrictly(map[string]any{"metadata": d.Object["metadata"]}, typed)
	if err != nil || !strict {
		return err
	}
	known, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed.Metadata)
	for member := range d.metadata() {
		keep(d.metadata(), known, member)
	}
	return err
}

// readStrictly reads JSON into a Go value and adds what has no place in it to the findings; found: there is some.
func (d *document) readStrictly(object map[string]any, into any) (found bool, err error) {
	text, err := json.Marshal(object)
	if err != nil {
		return false, err
	}
	strict, err := kjson.UnmarshalStrict(text, into)
	for _, finding := range strict {
		d.findings = append(d.findings, finding.Error())
	}
	return len(strict) > 0, err
}

// findingsSince are the findings of a document that were not there in the one before: what a patch must answer for.
func (d document) findingsSince(before document, res *resource.Resource) []string {
	if len(d.findings) == 0 {
		return nil
	}
	before = before.copy()
	_ = before.checkTypes(res) // what stands may be wrong in more than fields that are unknown
	return slices.DeleteFunc(slices.Clone(d.findings), func(finding string) bool { return slices.Contains(before.findings, finding) })
}

// maxFindings bounds the Warning headers of one answer.
const maxFindings = 20

// validateFields does with findings what the client asked for: refuse, as refuse words it, warn or ignore.
func (wr *writeRequest) validateFields(findings []string, refuse func(error) error) error {
	if len(findings) == 0 || wr.validation == metav1.FieldValidationIgnore {
		return nil
	}
	if wr.validation == metav1.FieldValidationStrict {
		return refuse(fmt.Errorf("strict decoding error: %s", strings.Join(findings, ", ")))
	}
	for _, finding := range findings[:min(len(findings), maxFindings)] {
		wr.warn(finding)
	}
	if more := len(findings) - maxFindings; more > 0 {
		wr.warn(fmt.Sprintf("%d more fields are unknown or duplicate", more))
	}
	return nil
}

func duplicateFields(names []string) []string {
	findings := make([]string, len(names))
	for i, name := range names {
		findings[i] = fmt.Sprintf("duplicate field %q", name)
	}
	return findings
}
