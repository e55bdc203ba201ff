package request

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestBrokenBody checks that the error of a body that cannot be read says why.
func TestBrokenBody(t *testing.T) {
	for _, test := range []struct{ name, head, body, want string }{
		{"no chunk", "Transfer-Encoding: chunked", "zz\r\n", "invalid byte in chunk length"},
		{"a chunk that ends early", "Transfer-Encoding: chunked", "4\r\nab", "unexpected EOF"},
		{"a body that ends early", "Content-Length: 9", "ab", "unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := "POST / HTTP/1.1\r\nHost: a\r\n" + test.head + "\r\n\r\n" + test.body
			r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
			if err != nil {
				t.Fatal(err)
			}
			if _, err = ReadBody(httptest.NewRecorder(), r); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader("a"), failing{}))
	if _, err := ReadBody(httptest.NewRecorder(), r); err == nil || strings.Contains(err.Error(), "10.0.0.1") || !strings.Contains(err.Error(), "unexpected EOF") {
		t.Errorf("got %v, want the cause without the addresses", err)
	}
}

// failing is the body of a connection that has broken.
type failing struct{}

func (failing) Read([]byte) (int, error) {
	return 0, fmt.Errorf("read tcp 10.0.0.1:80: %w", io.ErrUnexpectedEOF)
}
