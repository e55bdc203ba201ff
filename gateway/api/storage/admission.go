package storage

import (
	"context"

	"revtail/gateway/api/object"
)

// admit lets admission change a new object before it is completed and validated; old is the zero Object for a create.
func (wr *Request) admit(ctx context.Context, next, old object.Object) (err error) {
	wr.recorded = false
	wr.recorded, err = wr.review.Admit(ctx, wr.Sent, next, old, func() {
		if old.Unstructured != nil {
			wr.updateManagedFields(old, next)
			return
		}
		status, sent := next.Object["status"]
		if wr.Resource.Status {
			delete(next.Object, "status") // a create does not set it
		}
		wr.updateManagedFields(object.Zero(wr.Resource), next)
		if sent {
			next.Object["status"] = status
		}
	})
	return err
}
