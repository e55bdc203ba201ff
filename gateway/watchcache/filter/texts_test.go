package filter

import (
	"sync"
	"testing"
)

// TestTextsDoNotWaitForEachOther checks that a text that takes long to compile holds up neither another text nor one that is compiled
// already.
func TestTextsDoNotWaitForEachOther(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	texts := newTexts(func(text string) (*string, error) {
		if text == "expensive" {
			close(begun)
			<-finish
		}
		return &text, nil
	})
	get := func(text string) *string {
		value, err := texts.get(text)
		if err != nil || value == nil || *value != text {
			t.Errorf("%s: %v, %v", text, value, err)
		}
		return value
	}
	known := get("known")
	var running sync.WaitGroup
	running.Go(func() { get("expensive") })
	<-begun
	if get("known") != known {
		t.Error("a known text was compiled again")
	}
	get("new")
	close(finish) // not reached if a text waits for the expensive one
	running.Wait()
}
