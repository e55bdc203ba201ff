package memory_test

import (
	"testing"

	"go.uber.org/goleak"

	"revtail/etcdstore/memory"
	"revtail/etcdstore/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Backend { return memory.New() })
}

func TestNewStoreIsAtRevisionOne(t *testing.T) {
	rev, err := memory.New().Revision(t.Context())
	if err != nil || rev != 1 {
		t.Fatalf("Revision: %d, %v; want 1", rev, err)
	}
}

func TestTxnWithNothingToDoMakesNoRevision(t *testing.T) {
	s := memory.New()
	if rev := s.Txn(nil, []string{"absent"}); rev != 1 {
		t.Errorf("revision %d, want 1", rev)
	}
}
