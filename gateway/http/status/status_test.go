package status

import (
	"fmt"
	"testing"

	"revtail/etcdstore"
	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/watchcache"
)

// TestWordings checks that both APIs answer an error with the same code and reason, each with its own message.
func TestWordings(t *testing.T) {
	for _, err := range []error{
		&etcdstore.CompactedError{Requested: 1, Compacted: 9}, &watchcache.ExpiredError{Requested: 1, Oldest: 9}, &watchcache.RevertedError{Requested: 9, Current: 1},
		&etcdstore.FutureError{Requested: 9, Current: 1}, &watchcache.TooLargeError{Requested: 9, Current: 1}, etcdstore.ErrTooLarge,
	} {
		resource, keys := Of(fmt.Errorf("list: %w", err)), OfKeys(fmt.Errorf("list: %w", err))
		if resource.Code != keys.Code || resource.Code == 500 || resource.Reason != keys.Reason || resource.Message == keys.Message {
			t.Errorf("%T: %d %s %q, and in the keys API %d %s %q", err, resource.Code, resource.Reason, resource.Message, keys.Code, keys.Reason, keys.Message)
		}
	}
	for _, err := range []error{etcdstore.ErrUnavailable, etcdstore.ErrStorageFull, &etcdstore.NoRoomError{Reason: "1 MiB left"}, ErrDraining, &flowcontrol.RejectedError{Reason: flowcontrol.RejectedShare}, &watchcache.NotReadyError{}, ErrInternal} {
		if resource, keys := Of(err), OfKeys(err); resource.Code != keys.Code || resource.Message != keys.Message {
			t.Errorf("%v: %d %s, and in the keys API %d %s", err, resource.Code, resource.Message, keys.Code, keys.Message)
		}
	}
}

// TestFutureRevision checks that the message names etcd's newest revision only if it is known.
func TestFutureRevision(t *testing.T) {
	if status := OfKeys(&etcdstore.FutureError{Requested: 9}); status.Message != "revision 9 is not reached yet: try again" {
		t.Errorf("%d %s", status.Code, status.Message)
	}
}
