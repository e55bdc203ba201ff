package transport

import (
	"bytes"
	"encoding/binary"
	"io"
)

const (
	recordHeader    = 5 // bytes of the header of a TLS record: type, version, length (RFC 8446, section 5.1)
	recordHandshake = 22
	maxRecord       = 16 << 10 // bytes of a record without protection; crypto/tls refuses a longer one
)

// clientHello divides the first record of a TLS connection, which has the ClientHello, into quarters, as RFC 8446, section 5.1, permits: as long as a
// connection lives, crypto/tls keeps a buffer of its longest record, and a ClientHello has 1.5 KB since key exchange is hybrid (X25519MLKEM768).
// The other buffer that crypto/tls keeps, of the whole message, doubles when it grows, so quarters leave little room unused in it.
type clientHello struct {
	header [3]byte // type and version of the client's record
	left   int     // bytes of the client's record that Read has not returned
	part   int     // bytes of each record that Read makes; zero: nothing is read yet
	held   []byte  // bytes that were read and not returned
}

// readFrom reads a record that TLS reads next. p must be longer than a header. done means that the client's record has been read. What does not begin
// with the header of a handshake, or is too long, is read unchanged, and as far as p has room: an HTTP request of which a part is not read would reset
// the connection of its client.
func (h *clientHello) readFrom(conn io.Reader, p []byte) (n int, done bool, err error) {
	if len(p) <= recordHeader {
		return 0, false, io.ErrShortBuffer
	}
	if h.part == 0 {
		n, err = conn.Read(p)
		if !h.begin(p[:n]) {
			return n, true, err
		}
	}
	if h.left == 0 { // what followed the record
		n = copy(p, h.held)
		h.held = h.held[n:]
		return n, len(h.held) == 0, nil
	}
	room := p[recordHeader:min(len(p), recordHeader+min(h.part, h.left))]
	if len(h.held) > 0 {
		n, err = copy(room, h.held), nil
		h.held = h.held[n:]
	} else if n, err = conn.Read(room); n == 0 {
		return 0, false, err
	}
	h.left -= n
	copy(p, h.header[:])
	binary.BigEndian.PutUint16(p[len(h.header):], uint16(n))
	return recordHeader + n, h.left == 0 && len(h.held) == 0, err
}

// begin takes the first bytes of a connection. It returns false if they are not the beginning of a ClientHello.
func (h *clientHello) begin(first []byte) bool {
	if len(first) < recordHeader || first[0] != recordHandshake {
		return false
	}
	length := int(binary.BigEndian.Uint16(first[len(h.header):]))
	if length == 0 || length > maxRecord {
		return false
	}
	copy(h.header[:], first)
	h.left, h.part, h.held = length, (length+3)/4, bytes.Clone(first[recordHeader:])
	return true
}
