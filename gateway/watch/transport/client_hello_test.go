package transport

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"testing/iotest"

	"revtail/gateway/netio/socket"
)

// record makes a TLS record.
func record(kind byte, length int) []byte {
	out := append([]byte{kind, 3, 1}, binary.BigEndian.AppendUint16(nil, uint16(length))...)
	for i := range length {
		out = append(out, byte(i*i))
	}
	return out
}

// readAll reads a connection to its end, as crypto/tls does, with n bytes of room.
func readAll(t *testing.T, from io.Reader, n int) (pieces [][]byte) {
	t.Helper()
	h, p := new(clientHello), make([]byte, n)
	for {
		var read int
		var err error
		if h == nil {
			read, err = from.Read(p)
		} else {
			var done bool
			if read, done, err = h.readFrom(from, p); done {
				h = nil
			}
		}
		if read > 0 {
			pieces = append(pieces, bytes.Clone(p[:read]))
		}
		if errors.Is(err, io.EOF) {
			return pieces
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestClientHelloInParts checks that the first record becomes records with the same content, and that everything after it stays as it is.
func TestClientHelloInParts(t *testing.T) {
	rest := append(record(recordHandshake, 70), record(23, 300)...)
	for _, length := range []int{1, 2, 3, 4, 5, 517, 1717, maxRecord} {
		sent := append(record(recordHandshake, length), rest...)
		for name, from := range map[string]io.Reader{
			"at once": bytes.NewReader(sent), "by halves": iotest.HalfReader(bytes.NewReader(sent)),
			"header, then bytes": io.MultiReader(bytes.NewReader(sent[:recordHeader]), iotest.OneByteReader(bytes.NewReader(sent[recordHeader:]))),
			"with its end":       iotest.DataErrReader(bytes.NewReader(sent)),
		} {
			var content []byte
			records := 0
			pieces := readAll(t, from, 576)
			for ; len(content) < length; records++ {
				got := pieces[0]
				pieces = pieces[1:]
				if !bytes.Equal(got[:3], sent[:3]) || int(binary.BigEndian.Uint16(got[3:])) != len(got)-recordHeader || len(got) == recordHeader {
					t.Fatalf("%d bytes, %s: record %x", length, name, got[:recordHeader])
				}
				content = append(content, got[recordHeader:]...)
			}
			if !bytes.Equal(content, sent[recordHeader:][:length]) {
				t.Errorf("%d bytes, %s: other content", length, name)
			}
			if after := bytes.Join(pieces, nil); !bytes.Equal(after, rest) {
				t.Errorf("%d bytes, %s: %d bytes after it, want %d", length, name, len(after), len(rest))
			}
			if name == "at once" && length > 100 && length < 2000 && (records < 4 || records > 5) {
				t.Errorf("%d bytes in %d records, want 4 or 5", length, records)
			}
		}
	}
}

// TestNoClientHello checks that a first record of another type, or one that crypto/tls refuses, stays as it is, and so does a part of a header.
func TestNoClientHello(t *testing.T) {
	for name, sent := range map[string][]byte{
		"nothing": nil, "a part of a header": {recordHandshake, 3, 1}, "an empty record": append(record(recordHandshake, 0), record(recordHandshake, 9)...),
		"too long": record(recordHandshake, maxRecord+1), "data": record(23, 100), "HTTP": []byte("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"),
	} {
		for _, from := range []io.Reader{bytes.NewReader(sent), iotest.OneByteReader(bytes.NewReader(sent))} {
			if got := bytes.Join(readAll(t, from, 576), nil); !bytes.Equal(got, sent) {
				t.Errorf("%s: %q, want %q", name, got, sent)
			}
		}
	}
}

// TestHandshakeKeepsLittle checks the memory that crypto/tls keeps of a handshake with a client whose ClientHello is long.
func TestHandshakeKeepsLittle(t *testing.T) {
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			kept := make(chan [2]int, 1)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				of := reflect.ValueOf(conn).Elem() // a *tls.Conn
				kept <- [2]int{of.FieldByName("rawInput").FieldByName("buf").Cap(), of.FieldByName("hand").FieldByName("buf").Cap()}
				_ = conn.Close() // the client has its answer: none
			}))
			server.Listener = InterceptListener{Listener: server.Listener, WriteTimeout: socket.WriteTimeout}
			server.StartTLS()
			defer server.Close()
			transport := server.Client().Transport.(*http.Transport)
			transport.TLSClientConfig.MaxVersion = version
			transport.TLSClientConfig.NextProtos = []string{"http/1.1"}
			response, err := server.Client().Get(server.URL) //nolint:noctx // the server answers with the end of the connection
			if err == nil {
				_ = response.Body.Close() // it is of no interest
			}
			select {
			case got := <-kept:
				if limit := [2]int{600, 2000}; got[0] > limit[0] || got[1] > limit[1] {
					t.Errorf("buffers of %d bytes are kept, want at most %d", got, limit)
				}
			default:
				t.Fatalf("the request has failed: %v", err)
			}
		})
	}
}
