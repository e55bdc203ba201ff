package delta

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzDelta checks that a value is read as it was written, and that no bytes make AppendValue fail in another way than with ErrDamaged.
func FuzzDelta(f *testing.F) {
	f.Add([]byte("base of the value"), []byte("base of a value"))
	f.Add([]byte("base of the value"), new(Differ).Append(nil, []byte("base of the value"), []byte("base of a value")))
	f.Add([]byte{1}, []byte{1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, base, value []byte) {
		difference := new(Differ).Append(nil, base, value)
		if again, err := AppendValue(nil, base, difference); err != nil || !bytes.Equal(again, value) {
			t.Errorf("the difference of %q and %q gives %q, %v", base, value, again, err)
		}
		if _, err := AppendValue(nil, base, value); err != nil && !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
	})
}
