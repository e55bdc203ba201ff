package main

import (
	"fmt"
	"strings"
	"testing"
)

// pieces cuts a text into pieces of n bytes.
func pieces(text string, n int) []string {
	var cut []string
	for len(text) > n {
		cut = append(cut, text[:n])
		text = text[n:]
	}
	return append(cut, text)
}

const chunkedHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

// TestResponse reads responses in pieces of every size.
func TestResponse(t *testing.T) {
	for _, test := range []struct {
		name, answer, body string
		complete           bool
	}{
		{"a chunk a line", chunkedHead + "5\r\none\n\n\r\n4\r\ntwo\n\r\n", "one\n\ntwo\n", false},
		{"two lines in a chunk, a line in two", chunkedHead + "b\r\none\ntwo\nthr\r\n3\r\nee\n\r\n0\r\n\r\n", "one\ntwo\nthree\n", true},
		{"a chunk of more than 15 bytes", chunkedHead + "1A\r\n"[:0] + "1a\r\n" + strings.Repeat("x", 26) + "\r\n0\r\n\r\n", strings.Repeat("x", 26), true},
		{"a length", "HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\nabc", "abc", true},
		{"no body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", true},
	} {
		for n := 1; n <= len(test.answer); n++ {
			var body strings.Builder
			heads := 0
			r := response{body: func(p []byte) { body.Write(p) }, head: func() { heads++ }}
			for _, piece := range pieces(test.answer, n) {
				if err := r.feed([]byte(piece)); err != nil {
					t.Fatalf("%s, %d bytes at a time: %v", test.name, n, err)
				}
			}
			if body.String() != test.body || heads != 1 || r.complete() != test.complete {
				t.Fatalf("%s, %d bytes at a time: body %q, %d heads, complete %v", test.name, n, &body, heads, r.complete())
			}
		}
	}
}

// TestResponseRefuses checks that a malformed response is an error.
func TestResponseRefuses(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\n",
		chunkedHead + "3\r\nfour\r\n",
		chunkedHead + "x\r\n",
		chunkedHead + "\r\n",
		chunkedHead + "0\r\n\r\nmore",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
	} {
		r := response{body: func([]byte) {}}
		if err := r.feed([]byte(answer)); err == nil {
			t.Errorf("%q is accepted as a response", answer)
		}
	}
}

func TestLines(t *testing.T) {
	const text = "one\ntwo\n\nlonger than the others\nrest"
	for n := 1; n <= len(text); n++ {
		var got []string
		l := lines{handle: func(line []byte) { got = append(got, string(line)) }}
		for _, piece := range pieces(text, n) {
			l.feed([]byte(piece))
		}
		if want := `["one\n" "two\n" "\n" "longer than the others\n"]`; fmt.Sprintf("%q", got) != want {
			t.Fatalf("%d bytes at a time: %q", n, got)
		}
	}
}
