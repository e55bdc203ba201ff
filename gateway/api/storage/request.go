package storage

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"revtail/encoding"
	"revtail/encoding/jsontext"
	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
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
	Permit      func(verb string) error // refuses a verb that the caller may not use besides; nil: every verb is allowed
	Warnings    []string                // for the client, whether the write succeeds or not
	guard       etcdstore.Guard         // of a create; zero: none is needed
}

// Options are the options of a write.
type Options struct {
	DryRun     bool
	Validation string          // metav1.FieldValidationIgnore, Warn or Strict
	Manager    string          // of the fields that change
	PatchType  types.PatchType // empty: the write is no patch
	Force      bool            // of an applied configuration: take over the fields that others manage
}

// Result is an object as a write has left it.
type Result struct {
	scope    resource.Scope
	value    []byte             // as it is stored
	revision etcdstore.Revision // zero: a dry run that creates
	Created  bool
	response []byte // the object for the client, if value does not say it
}

// warn keeps a warning for the client, once: a change that is tried again gives the same ones.
func (wr *Request) warn(text string) {
	if !slices.Contains(wr.Warnings, text) {
		wr.Warnings = append(wr.Warnings, text)
	}
}

// Object is the object as clients see it.
func (d Result) Object(t catalog.Target) ([]byte, error) {
	if d.response != nil {
		return d.response, nil
	}
	if t.Resource.Mount != nil {
		return d.mounted(t, "")
	}
	value := object.WithDefaults(t.Resource, d.value)
	if d.revision == 0 {
		objectValue, err := jsontext.Unmarshal(value)
		if err != nil {
			return nil, err
		}
		return encoding.Marshal(object.WithMember(objectValue, "apiVersion", t.Resource.APIVersion()))
	}
	if t.Resource.Storage == "" || t.Resource.Storage == t.Resource.Version {
		return encoding.AddResourceVersion(value, int64(d.revision)), nil
	}
	id := encoding.Identity{APIVersion: t.Resource.APIVersion(), Kind: t.Resource.Kind, Namespace: d.scope.Namespace, Name: d.scope.Name}
	object, err := encoding.Normalize(value, id, int64(d.revision))
	return object.JSON, err
}

// putObject writes an object with put and returns its value. If etcd finds it too large, it is tried again without its
// managedFields.
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

// encode is an object as it is stored; one of a custom resource is stored in the definition's storage version.
func encode(res *resource.Resource, d object.Object) ([]byte, error) {
	if res.Mount != nil {
		return res.Mount.Encode(d.Object)
	}
	objectValue := d.Object
	if version := res.Storage; version != "" && version != res.Version {
		objectValue = object.WithMember(objectValue, "apiVersion", res.Group+"/"+version)
	}
	value, err := encoding.Marshal(objectValue)
	if err != nil {
		return nil, status.BadRequest("%v", err)
	}
	return value, nil
}
