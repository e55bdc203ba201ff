package forms

import (
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding/protobuf"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// Messages encodes objects in protobuf. It implements watchcache.Encoding: watches with equal values share the results.
type Messages struct {
	Kind *protobuf.Kind
	View response.View // of a comparable type: it is no Table

	resource *resource.Resource
	store    *Store
}

// Messages returns the messages of a protobuf representation of a resource.
func (s *Store) Messages(res *resource.Resource, f response.Representation) Messages {
	return Messages{Kind: f.MessageKind(res), View: f.View(res), resource: res, store: s}
}

// messagePasses is how often encoding reads a document, in the time that a scan takes. Those that are decoded to their Go type take twice as long.
const messagePasses = 8

// Encode implements watchcache.Encoding. The error is that of MessageError.
func (m Messages) Encode(o *watchcache.Object) ([]byte, error) {
	message, err := m.Kind.AppendObject(nil, m.View.Object(o.JSON))
	if err != nil {
		return nil, MessageError(m.resource, o.Path(), err)
	}
	return message, nil
}

// EncodeStored implements watchcache.Encoding.
func (m Messages) EncodeStored(o *watchcache.Object) ([]byte, error) {
	if !m.Common() {
		return m.Encode(o)
	}
	return m.store.Of(m).Get(o, func() (Form, error) {
		message, err := m.Encode(o)
		return Form{Text: message}, err
	})
}

// Passes implements watchcache.Encoding.
func (m Messages) Passes() int { return messagePasses + m.View.Passes() }

// Common implements watchcache.Encoding: there are as many projections as clients choose.
func (m Messages) Common() bool {
	_, projected := m.View.(response.ProjectedView)
	return !projected
}

// MessageError returns the error of an object that is not of its kind, as only another program can have written it.
func MessageError(res *resource.Resource, name string, cause error) error {
	return status.Error(http.StatusInternalServerError, metav1.StatusReasonInternalError, fmt.Sprintf(
		"%s %q cannot be encoded in protobuf, because its value in etcd does not fit the kind: %v; ask for JSON", res.QualifiedName(), name, cause))
}
