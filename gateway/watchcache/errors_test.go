package watchcache

import "testing"

// TestExpiredErrorOmitsUnknownOldest checks that the message leaves out an unknown oldest revision.
func TestExpiredErrorOmitsUnknownOldest(t *testing.T) {
	for want, err := range map[string]*ExpiredError{
		"too old resource version: 1":     {Requested: 1},
		"too old resource version: 1 (7)": {Requested: 1, Oldest: 7},
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}
