package gateway

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"revtail/encoding"
	"revtail/encoding/jsontext"
	"revtail/etcdstore"
	"revtail/gateway/resource"
)

// writeRequest is a request to change one object.
type writeRequest struct {
	target
	writeOptions
	contentType string
	body        []byte
	permit      func(verb string) error // refuses a verb that the caller may not use besides; nil: every verb is allowed
	warnings    []string                // for the client, whether the write succeeds or not
	guard       etcdstore.Guard         // of a create; zero: none is needed
}

// writeOptions are the options of a write.
type writeOptions struct {
	dryRun     bool
	validation string          // metav1.FieldValidationIgnore, Warn or Strict
	manager    string          // of the fields that change
	patchType  types.PatchType // empty: the write is no patch
	force      bool            // of an applied configuration: take over the fields that others manage
}

// writeResult is an object as a write has left it.
type writeResult struct {
	scope    resource.Scope
	value    []byte             // as it is stored
	revision etcdstore.Revision // zero: a dry run that creates
	created  bool
	response []byte // the object for the client, if value does not say it
}

// warn keeps a warning for the client, once: a change that is tried again gives the same ones.
func (wr *writeRequest) warn(text string) {
	if !slices.Contains(wr.warnings, text) {
		wr.warnings = append(wr.warnings, text)
	}
}

// object is the object as clients see it.
func (d writeResult) object(t target) ([]byte, error) {
	if d.response != nil {
		return d.response, nil
	}
	if t.Resource.Mount != nil {
		return d.mounted(t, "")
	}
	value := withDefaults(t.Resource, d.value)
	if d.revision == 0 {
		object, err := jsontext.Unmarshal(value)
		if err != nil {
			return nil, err
		}
		return encoding.Marshal(withMember(object, "apiVersion", t.Resource.APIVersion()))
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
func putObject(res *resource.Resource, d document, put func(value []byte) (etcdstore.Revision, error)) ([]byte, etcdstore.Revision, error) {
	value, err := encode(res, d)
	if err != nil {
		return nil, 0, err
	}
	revision, err := put(value)
	if errors.Is(err, etcdstore.ErrTooLarge) && d.metadata()["managedFields"] != nil {
		d.deleteMetadata("managedFields")
		if value, err = encode(res, d); err != nil {
			return nil, 0, err
		}
		revision, err = put(value)
	}
	return value, revision, err
}

// encode is an object as it is stored; one of a custom resource is stored in the definition's storage version.
func encode(res *resource.Resource, d document) ([]byte, error) {
	if res.Mount != nil {
		return res.Mount.Encode(d.Object)
	}
	object := d.Object
	if version := res.Storage; version != "" && version != res.Version {
		object = withMember(object, "apiVersion", res.Group+"/"+version)
	}
	value, err := encoding.Marshal(object)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return value, nil
}
