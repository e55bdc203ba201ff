package main

import "testing"

func TestContinueToken(t *testing.T) {
	for list, want := range map[string]string{
		`{"kind":"List","metadata":{"resourceVersion":"7","continue":"abc"},"items":[]}`: "abc",
		`{"kind":"List","metadata":{"resourceVersion":"7","continue":""},"items":[]}`:    "",
		`{"kind":"List","metadata":{"resourceVersion":"7"},"items":[]}`:                  "",
	} {
		if token, more := continueToken([]byte(list)); token != want || more != (want != "") {
			t.Errorf("%s: token %q, more %t", list, token, more)
		}
	}
}
