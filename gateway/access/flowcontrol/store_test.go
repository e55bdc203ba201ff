package flowcontrol

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

// slowStore takes ten seconds for a write.
type slowStore struct{ etcdstore.Store }

func (s slowStore) Create(ctx context.Context, key string, value []byte) (etcdstore.Revision, error) {
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return s.Store.Create(ctx, key, value)
}

// TestWritesAreShared checks that the writes of a user who sends many delay those of no other user, and those of the gateway itself not at
// all, and that a refused write is not done.
func TestWritesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		etcd := memory.New()
		store := LimitWrites(slowStore{etcd}, NewPool(Config{Resource: "writes", Seats: 8, MaxWait: 15 * time.Second}))
		greedy := WithUser(t.Context(), "greedy")
		results := make(chan error, 100)
		for i := range 100 {
			go func() {
				_, err := store.Create(greedy, fmt.Sprint("/greedy/", i), nil)
				results <- err
			}()
		}
		synctest.Wait()
		began := time.Now()
		for _, ctx := range []context.Context{WithUser(t.Context(), "modest"), t.Context()} {
			if _, err := store.Create(ctx, fmt.Sprint("/others/", ctx.Value(userKey{})), nil); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("the two other writes took %v", took)
		}
		done, refused := 0, 0
		for range 100 {
			switch err := <-results; {
			case err == nil:
				done++
			case errors.As(err, new(*RejectedError)):
				refused++
			default:
				t.Error(err)
			}
		}
		page, err := etcd.List(t.Context(), "/greedy/", etcdstore.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if done != 8 || refused != 92 || len(page.KVs) != done { // four at a time, twice
			t.Errorf("%d writes are done and %d refused; there are %d keys", done, refused, len(page.KVs))
		}
	})
}
