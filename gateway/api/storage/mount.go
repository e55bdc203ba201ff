package storage

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/api/catalog"
	"revtail/gateway/api/object"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// replaceMounted stores the value of a mount's object. It writes nothing if the value differs in its encoding only.
func (s *Store) replaceMounted(ctx context.Context, wr *Request, next object.Object, a *updateAttempt) (done Result, err error) {
	mount := wr.Resource.Mount
	if mount.SameValue(next.Object, a.old.Object) && !a.stale {
		return Result{response: a.object.JSON}, nil
	}
	done = Result{scope: wr.Scope, revision: a.object.Revision}
	if done.value, err = mount.Encode(next.Object); err != nil {
		return Result{}, status.BadRequest("%v", err)
	}
	if !wr.DryRun {
		if done.revision, err = s.putKey(ctx, a, wr.Ref, done.value); err != nil {
			return Result{}, err
		}
	}
	done.response, err = done.mounted(wr.Target, string(a.old.GetUID()))
	return done, err
}

// mountMembers are the members of a mount's object that have the value of the key.
var mountMembers = []string{"value", "undecodable", "bytes"}

// mergeMounted applies a configuration to a mount's object. The value is replaced as a whole, because a key has no managedFields;
// a value that differs from the stored one is therefore a conflict, unless the request forces it.
func (wr *Request) mergeMounted(applied, old object.Object) (object.Object, error) {
	next := applied.Copy()
	exists := old.GetUID() != ""
	_, given := applied.Object["value"]
	switch {
	case exists && !given:
		for _, member := range mountMembers {
			if value, ok := old.Object[member]; ok {
				next.Object[member] = value
			}
		}
	case exists && !wr.Force && !wr.Resource.Mount.SameValue(applied.Object, old.Object):
		return object.Object{}, apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".value",
			Message: "conflict with whoever has written the key"}}, "Apply failed with 1 conflict: conflict with whoever has written the key: .value")
	}
	if next.GetResourceVersion() == "" {
		next.SetResourceVersion(old.GetResourceVersion())
	}
	return next, nil
}

// mounted returns the object of a mount for the client; an empty uid: the write created the key.
func (d Result) mounted(t catalog.Target, uid string) ([]byte, error) {
	key, _ := t.Resource.Mount.Key(d.scope)
	object, err := t.Resource.Mount.Decode(resource.Entry{Key: key, Value: d.value, Created: int64(d.revision), Modified: int64(d.revision), UID: uid})
	return object.JSON, err
}
