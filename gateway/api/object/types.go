package object

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	kjson "sigs.k8s.io/json"

	"revtail/gateway/resource"
)

// CheckTypes checks the types of the known fields, because a typed client cannot decode an object with a wrong one. It sets defaults,
// prunes objects of custom resources, and adds to the FieldWarnings.
func (d *Object) CheckTypes(res *resource.Resource) error {
	switch metadata := d.Object["metadata"].(type) {
	case nil:
		d.Object["metadata"] = map[string]any{}
	case map[string]any:
	default:
		return fmt.Errorf("json: cannot unmarshal %T into Go struct field %s.metadata of type v1.ObjectMeta", metadata, res.Kind)
	}
	if !d.matchesType(res) {
		if _, err := d.TypedMetadata(); err != nil {
			return err
		}
		d.replaceNulls()
		check := d.checkGoType
		if res.GoType == nil {
			check = d.pruneMetadata
		}
		if err := check(res); err != nil {
			return err
		}
	}
	if res.Schema == nil {
		if res.Defaults != nil && res.Strategy == nil {
			res.Defaults(d.Object)
		}
		return nil
	}
	unknown, err := res.Schema.Complete(d.Object)
	for _, name := range unknown {
		d.FieldWarnings = append(d.FieldWarnings, fmt.Sprintf("unknown field %q", name))
	}
	return err
}

// replaceNulls replaces null labels and annotations by empty strings, as typed clients decode them, because selectors read the stored
// object without its type.
func (d *Object) replaceNulls() {
	for _, member := range []string{"labels", "annotations"} {
		values, _ := d.Metadata()[member].(map[string]any)
		for name, value := range values {
			if value == nil {
				values[name] = ""
			}
		}
	}
}

// matchesType reports whether the object certainly has known fields only, of the right types.
func (d *Object) matchesType(res *resource.Resource) bool {
	if res.GoType != nil {
		return typeSchemaOf(reflect.TypeOf(res.GoType)).matches(d.Object)
	}
	return typeSchemaOf(reflect.TypeFor[metav1.ObjectMeta]()).matches(d.Object["metadata"])
}

// checkGoType checks an object of a kind that has a Go type.
func (d *Object) checkGoType(res *resource.Resource) error {
	_, err := d.readStrictly(d.Object, reflect.New(reflect.TypeOf(res.GoType)).Interface())
	return err
}

// pruneMetadata removes unknown fields of the metadata. Built-in kinds keep theirs, because newer clients may know them.
func (d *Object) pruneMetadata(*resource.Resource) error {
	typed := &struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}{}
	strict, err := d.readStrictly(map[string]any{"metadata": d.Object["metadata"]}, typed)
	if err != nil || !strict {
		return err
	}
	known, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed.Metadata)
	for member := range d.Metadata() {
		copyOrDelete(d.Metadata(), known, member)
	}
	return err
}

// readStrictly decodes JSON into a Go value, and adds unknown fields to the FieldWarnings; found: there are some.
func (d *Object) readStrictly(object map[string]any, into any) (found bool, err error) {
	text, err := json.Marshal(object)
	if err != nil {
		return false, err
	}
	strict, err := kjson.UnmarshalStrict(text, into)
	d.FieldWarnings = append(d.FieldWarnings, texts(strict)...)
	return len(strict) > 0, err
}

// FieldWarningsSince returns the FieldWarnings that an older object lacks: those of a patch.
func (d Object) FieldWarningsSince(before Object, res *resource.Resource) []string {
	if len(d.FieldWarnings) == 0 {
		return nil
	}
	before = before.Copy()
	_ = before.CheckTypes(res) // the stored object may have other errors
	known := sets.New(before.FieldWarnings...)
	return slices.DeleteFunc(slices.Clone(d.FieldWarnings), known.Has)
}

// JSONPatchWarnings returns the FieldWarnings of the operations of a valid JSON patch.
func JSONPatchWarnings(body []byte) []string {
	var operations []struct {
		Op    string `json:"op"`
		From  string `json:"from"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	strict, _ := kjson.UnmarshalStrict(body, &operations) // the patch has been applied
	for i, err := range strict {
		strict[i] = fmt.Errorf("json patch %w", err)
	}
	return texts(strict)
}

// DuplicateFields returns the FieldWarnings of duplicate fields.
func DuplicateFields(names []string) []string {
	warnings := make([]string, len(names))
	for i, name := range names {
		warnings[i] = fmt.Sprintf("duplicate field %q", name)
	}
	return warnings
}
