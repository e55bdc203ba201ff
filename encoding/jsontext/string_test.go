package jsontext

import "testing"

// TestPlainBytes compares plainBytes with a search byte by byte, for every pair of neighbouring bytes at every place in a text.
func TestPlainBytes(t *testing.T) {
	text := []byte("abcdefghijklmnopqrstu")
	for at := range len(text) - 1 {
		a, b := text[at], text[at+1]
		for pair := range 1 << 16 {
			text[at], text[at+1] = byte(pair>>8), byte(pair)
			want := 0
			for want < len(text) && plain[text[want]] {
				want++
			}
			if got := plainBytes(text); got != want {
				t.Fatalf("%q has %d plain bytes, want %d", text, got, want)
			}
		}
		text[at], text[at+1] = a, b
	}
}
