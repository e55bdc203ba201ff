package main

import (
	"io"
	"os"
	"testing"
)

// TestMain lets the test program be a peer: stages start their peers from the program that they are in.
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
