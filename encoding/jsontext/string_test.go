package jsontext

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"
)

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

// TestAppendString compares AppendString with encoding/json, for texts of pieces that need an escape or are not ASCII, and others.
func TestAppendString(t *testing.T) {
	pieces := []string{"a", "bcdefgh", "0123456789abcdef", "\"", "\\", "\n", "\x00", "\x1f", "\x7f", "<&>", "é", "日", "😀", "\u2028", "\u2029", "\ufffd", "\xff", "\xe6\x97"}
	var want bytes.Buffer
	coder := json.NewEncoder(&want)
	coder.SetEscapeHTML(false)
	random := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		text := ""
		for range random.IntN(8) {
			text += pieces[random.IntN(len(pieces))]
		}
		want.Reset()
		if err := coder.Encode(text); err != nil {
			t.Fatal(err)
		}
		if got := string(AppendString(nil, text)) + "\n"; got != want.String() {
			t.Fatalf("%q becomes %s, want %s", text, got, want.String())
		}
	}
}
