package status

import (
	"testing"

	"revtail/etcdstore"
)

// TestFutureRevision: where etcd's newest revision is not known, the message does not name it.
func TestFutureRevision(t *testing.T) {
	if status := OfKeys(&etcdstore.FutureError{Requested: 9}); status.Message != "revision 9 is not reached yet: try again" {
		t.Errorf("%d %s", status.Code, status.Message)
	}
}
