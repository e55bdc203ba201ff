package main

import (
	"io"
	"os"
	"testing"
)

// TestMain makes the test program a peer if its arguments say so, because a stage starts its peers from its own program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "peer" {
		main()
		return
	}
	os.Exit(m.Run())
}

func newTestStage(t *testing.T) *stage {
	t.Helper()
	s, err := newStage(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	s.size = quickSize()
	s.size.watchers = 150
	return s
}
