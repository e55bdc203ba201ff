package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/resource"
)

// write is a request that changes one object.
type write struct {
	target
	writeParams
	caller      *caller // nil: anybody
	contentType string
	body        []byte
	warnings    []string        // for the client, whatever comes of the write
	guard       etcdstore.Guard // of a create; zero: none is needed
}

// written is an object as a write has left it.
type written struct {
	scope    resource.Scope
	value    []byte             // as it is stored
	revision etcdstore.Revision // zero: a dry run that creates
	created  bool
	shown    []byte // the object, where it is not to be made of value
}

// serveWrite is what all writes of one object have in common: it reads the request, has do change the object, and answers.
func (s *Server) serveWrite(w http.ResponseWriter, r *http.Request, t target, do func(context.Context, *write) (written, error)) {
	wr, err := s.readWrite(w, r, t)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	done, err := do(r.Context(), wr)
	wr.sendWarnings(w)
	var object []byte
	if err == nil {
		object, err = done.object(t)
	}
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	code := http.StatusOK
	if done.created {
		code = http.StatusCreated
	}
	s.respondObject(w, r, t, code, object)
}

// readWrite reads and checks all of a request but what its body says.
func (s *Server) readWrite(w http.ResponseWriter, r *http.Request, t target) (*write, error) {
	params, err := parseWriteParams(r, t)
	if err != nil {
		return nil, err
	}
	if err = s.negotiate(r); err != nil {
		return nil, err
	}
	body, err := readBody(w, r)
	return &write{target: t, writeParams: params, caller: callerOf(r), contentType: r.Header.Get("Content-Type"), body: body}, err
}

// warn keeps a warning for the answer; a change that is tried again gives the same ones.
func (wr *write) warn(text string) {
	if !slices.Contains(wr.warnings, text) {
		wr.warnings = append(wr.warnings, text)
	}
}

func (wr *write) sendWarnings(w http.ResponseWriter) {
	for _, text := range wr.warnings {
		warn(w, text)
	}
}

// object is what a client gets to see of it.
func (d written) object(t target) ([]byte, error) {
	if d.shown != nil {
		return d.shown, nil
	}
	if t.Resource.Mount != nil {
		return d.mounted(t, "")
	}
	value := withDefaults(t.Resource, d.value)
	if d.revision == 0 {
		object, err := encoding.Unmarshal(value)
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

// store writes a document with put and returns its value. One that etcd finds too large is tried again without its
// managedFields, as it may be these that make it so.
func (d document) store(t target, put func(value []byte) (etcdstore.Revision, error)) ([]byte, etcdstore.Revision, error) {
	value, err := d.encode(t)
	if err != nil {
		return nil, 0, err
	}
	revision, err := put(value)
	if errors.Is(err, etcdstore.ErrTooLarge) && d.metadata()["managedFields"] != nil {
		d.drop("managedFields")
		if value, err = d.encode(t); err != nil {
			return nil, 0, err
		}
		revision, err = put(value)
	}
	return value, revision, err
}

// encode is a document as it is stored: of a custom resource, in the version in which all of its objects are.
func (d document) encode(t target) ([]byte, error) {
	if t.Resource.Mount != nil {
		return t.Resource.Mount.Encode(d.Object)
	}
	object := d.Object
	if version := t.Resource.Storage; version != "" && version != t.Resource.Version {
		object = withMember(object, "apiVersion", t.Resource.Group+"/"+version)
	}
	value, err := encoding.Marshal(object)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return value, nil
}

func isAbsent(err error) bool { return apierrors.IsNotFound(err) }

func conflict(t target) error {
	return apierrors.NewConflict(t.GroupResource(), t.Scope.Name, errModified)
}
