package gateway

import (
	"runtime"
	"sync"
	"weak"
)

// keptTexts is how many texts are kept that nobody uses at the moment.
const keptTexts = 128

// texts keeps what was made of the texts that clients send: equal ones have the same value, made once, for as long as somebody
// uses it, and the newest of them longer, for those who come again.
type texts[T any] struct {
	make func(text string) (*T, error)

	mu    sync.Mutex // guards the fields below
	known map[string]weak.Pointer[T]
	kept  [keptTexts]*T
	next  int // in kept
}

// get returns the value of a text. It is made under the lock: a text that many send at the same time is made once.
func (t *texts[T]) get(text string) (*T, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if value := t.known[text].Value(); value != nil {
		return value, nil
	}
	value, err := t.make(text)
	if err != nil {
		return nil, err
	}
	if t.known == nil {
		t.known = make(map[string]weak.Pointer[T])
	}
	t.known[text] = weak.Make(value)
	t.kept[t.next] = value
	t.next = (t.next + 1) % keptTexts
	runtime.AddCleanup(value, t.forget, text)
	return value, nil
}

// forget drops a text whose value is gone, if it has no new one.
func (t *texts[T]) forget(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if value, ok := t.known[text]; ok && value.Value() == nil {
		delete(t.known, text)
	}
}
