package program

import "testing"

// TestFreeAddress has two blocks, as two processes have, and takes every address of both.
func TestFreeAddress(t *testing.T) {
	var one, other block
	given := map[string]bool{}
	for range blockPorts - 50 { // some ports may be used by other programs
		for _, b := range []*block{&one, &other} {
			address := b.address()
			if given[address] {
				t.Fatalf("%s is returned twice", address)
			}
			given[address] = true
		}
	}
	if err := one.guard.Close(); err != nil {
		t.Error(err)
	}
	if err := other.guard.Close(); err != nil {
		t.Error(err)
	}
}
