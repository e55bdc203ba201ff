package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/encoding"
	"revtail/encoding/jsontext"
	"revtail/etcdstore"
	"revtail/gateway/access/cputime"
	"revtail/gateway/api/addresses"
	"revtail/gateway/api/admission"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/managedfields"
	"revtail/gateway/api/object"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// Request is a request to change one object.
type Request struct {
	catalog.Target
	Options
	ContentType string
	Body        []byte
	Permit      func(verb string) error // checks that the caller may use another verb; nil: every verb is allowed
	Warnings    object.Warnings         // for the client, also after an error
	Account     *cputime.Account        // of the caller; pays for the rules of schemas
	guard       etcdstore.Guard         // the condition of a create; zero: none
	namespaces  []string                // the Namespaces to create with the object
	review      *admission.Review       // nil: nothing decides about the write
	allocation  *addresses.Allocation   // of the addresses of a Service
	recorded    bool                    // managedFields have the fields that the client has changed
}

// Options are the options of a write.
type Options struct {
	DryRun     bool
	Validation string          // metav1.FieldValidationIgnore, Warn or Strict
	Manager    string          // of the fields that change
	PatchType  types.PatchType // empty: the write is no patch
	Force      bool            // of an applied configuration: take over the fields that others manage

	Sent metav1.UpdateOptions // as the client has sent them, for admission
}

// Result is the object after a write.
type Result struct {
	scope    resource.Scope
	value    []byte             // as it is stored
	revision etcdstore.Revision // zero: a dry run that creates
	Created  bool
	response []byte // the object for the client, if it differs from value
}

// Revision returns the revision of the write; zero: a dry run that creates.
func (d Result) Revision() etcdstore.Revision { return d.revision }

// Object returns the object for the client.
func (d Result) Object(t catalog.Target) ([]byte, error) {
	if d.response != nil {
		return d.response, nil
	}
	if t.Resource.Mount != nil {
		return d.mounted(t, "")
	}
	value, err := object.FromStored(t.Resource, d.value)
	if err != nil {
		return nil, err
	}
	if d.revision == 0 {
		decoded, failed := jsontext.Unmarshal(value)
		if failed != nil {
			return nil, failed
		}
		return encoding.Marshal(object.WithMember(decoded, "apiVersion", t.Resource.APIVersion()))
	}
	if t.Resource.IsStored() {
		return encoding.AddResourceVersion(value, int64(d.revision)), nil
	}
	id := encoding.Identity{APIVersion: t.Resource.APIVersion(), Kind: t.Resource.Kind, Namespace: d.scope.Namespace, Name: d.scope.Name}
	object, err := encoding.Normalize(value, id, int64(d.revision))
	return object.JSON, err
}

// putObject writes an object with put and returns its value. If the value is too large for etcd, it tries again without managedFields.
func putObject(res *resource.Resource, d object.Object, put func(value []byte) (etcdstore.Revision, error)) ([]byte, etcdstore.Revision, error) {
	value, err := encode(res, d)
	if err != nil {
		return nil, 0, err
	}
	revision, err := put(value)
	if errors.Is(err, etcdstore.ErrTooLarge) && d.Metadata()["managedFields"] != nil {
		d.DeleteMetadata("managedFields")
		if value, err = encode(res, d); err != nil {
			return nil, 0, err
		}
		revision, err = put(value)
	}
	return value, revision, err
}

// encode returns the stored value of an object, which is of the storage version of its resource.
func encode(res *resource.Resource, d object.Object) ([]byte, error) {
	if res.Mount != nil {
		return res.Mount.Encode(d.Object)
	}
	stored := d.Object
	if !res.IsStored() {
		var err error
		if stored, err = object.ToStored(res, d); err != nil {
			return nil, err
		}
	}
	value, err := encoding.Marshal(stored)
	if err != nil {
		return nil, status.BadRequest("%v", err)
	}
	return value, nil
}

// Decode decodes the body of a create or an update, which must be an object of the kind of the URL's representation.
func (wr *Request) Decode() (object.Object, error) {
	d, err := object.Decode(wr.ViewKind(), wr.ContentType, wr.Body)
	if err != nil {
		return object.Object{}, err
	}
	return d, wr.validateFields(d.FieldWarnings, func(err error) error { return object.CannotHandle(wr.ViewKind(), err) })
}

// validateFields handles unknown and duplicate fields as fieldValidation says: it returns the error that refuse makes, warns, or does
// nothing.
func (wr *Request) validateFields(found []string, refuse func(error) error) error {
	if len(found) == 0 || wr.Validation == metav1.FieldValidationIgnore {
		return nil
	}
	if wr.Validation == metav1.FieldValidationStrict {
		return refuse(fmt.Errorf("strict decoding error: %s", strings.Join(found, ", ")))
	}
	wr.Warnings.Add(found, "fields are unknown or duplicate")
	return nil
}

// updateManagedFields records the changes from old to next as the client's, unless an apply, or admit, has recorded them already. What was allocated is
// not the client's.
func (wr *Request) updateManagedFields(old, next object.Object) {
	if wr.PatchType != types.ApplyYAMLPatchType && !wr.recorded {
		if wr.allocation != nil {
			next = object.New(wr.allocation.Given(next.Object))
		}
		wr.Cache.Fields.Update(wr.change(), old, next)
	}
}

func (wr *Request) change() managedfields.Change {
	return managedfields.Change{Manager: wr.Manager, Subresource: wr.Subresource}
}

// validateSchema appends what the schema of the resource, if it has one, finds wrong with an object, as an update of old if that is not nil. Its
// rules are expressions that clients chose, so the account pays for them. The error is a *cputime.OverloadError.
func (wr *Request) validateSchema(ctx context.Context, errs *field.ErrorList, next, old map[string]any) error {
	if wr.Resource.Schema == nil {
		return nil
	}
	turn := wr.Account.Turn()
	defer turn.End()
	if err := turn.Continue(); err != nil {
		return err
	}
	*errs = append(*errs, wr.Resource.Schema.Validate(ctx, next, old)...)
	return nil
}
