package gateway

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/resource"
)

// mountDecoder makes objects of what other programs write below a mount's prefix.
func mountDecoder(m resource.Mount) func(etcdstore.KV) (encoding.Object, error) {
	return func(kv etcdstore.KV) (encoding.Object, error) {
		return m.Decode(resource.Entry{Key: kv.Key, Value: kv.Value, Created: int64(kv.Created), Modified: int64(kv.Modified)})
	}
}

// checkMount refuses writes to a mount that is read alone, and names that are not those of keys.
func (t target) checkMount(method string) error {
	if t.Resource.Mount == nil {
		return nil
	}
	if t.Resource.ReadOnly && method != http.MethodGet {
		return &apierrors.StatusError{ErrStatus: *newStatus(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, fmt.Sprintf(
			"%s can be read only: it shows the keys below %q, which other programs write; writable: true among the mounts of the configuration changes that",
			t.Resource.QualifiedName(), t.Resource.Mount.KeyPrefix()))}
	}
	if t.Scope.Name == "" {
		return nil
	}
	if _, ok := t.Resource.Mount.Key(t.Scope); !ok {
		return absent(t)
	}
	return nil
}

// replaceMounted writes the value of a successor. One that has the same value is not written, however it is spelt there.
func (s *Server) replaceMounted(ctx context.Context, wr *write, next document, a *attempt) (done written, err error) {
	mount := wr.Resource.Mount
	if mount.SameValue(next.Object, a.old.Object) {
		return written{shown: a.object.JSON}, nil
	}
	done = written{scope: wr.Scope, revision: a.object.Revision}
	if done.value, err = mount.Encode(next.Object); err != nil {
		return written{}, badRequest("%v", err)
	}
	if !wr.dryRun {
		key, _ := mount.Key(wr.Scope)
		if done.revision, err = a.update(ctx, s, key, done.value); err != nil {
			return written{}, err
		}
	}
	done.shown, err = done.mounted(wr.target, string(a.old.GetUID()))
	return done, err
}

// mountMembers are what an object of a mount has of its key.
var mountMembers = []string{"value", "undecodable", "bytes"}

// mergeMounted takes the value of a configuration as a whole: there is no place to keep account of who manages what of it. So a
// value that differs from what stands may be anybody's, and is a conflict that only force overrules.
func (wr *write) mergeMounted(applied, old document) (document, error) {
	next := applied.copy()
	exists := old.GetUID() != ""
	_, given := applied.Object["value"]
	switch {
	case exists && !given:
		for _, member := range mountMembers {
			if value, ok := old.Object[member]; ok {
				next.Object[member] = value
			}
		}
	case exists && !wr.force && !wr.Resource.Mount.SameValue(applied.Object, old.Object):
		return document{}, apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".value",
			Message: "conflict with whoever has written the key"}}, "Apply failed with 1 conflict: conflict with whoever has written the key: .value")
	}
	if next.GetResourceVersion() == "" {
		next.SetResourceVersion(old.GetResourceVersion())
	}
	return next, nil
}

// mounted is what a client gets to see of a write to a mount; an empty uid is that of a key that was just made.
func (d written) mounted(t target, uid string) ([]byte, error) {
	key, _ := t.Resource.Mount.Key(d.scope)
	object, err := t.Resource.Mount.Decode(resource.Entry{Key: key, Value: d.value, Created: int64(d.revision), Modified: int64(d.revision), UID: uid})
	return object.JSON, err
}
