package transport

import (
	"encoding/binary"
	"io"
)

const (
	recordHeader    = 5 // bytes of the header of a TLS record: type, version, length (RFC 8446, section 5.1)
	recordHandshake = 22
	maxRecord       = 16 << 10 // bytes of a record without protection; crypto/tls refuses a longer one
)

// clientHello divides the first record of a TLS connection, which has the ClientHello, into four, as RFC 8446, section 5.1, permits: as long as a
// connection lives, crypto/tls keeps a buffer of its longest record, and a ClientHello has 1.5 KB since key exchange is hybrid (X25519MLKEM768).
// The other buffer that crypto/tls keeps, of the whole message, doubles when it grows, so four equal parts leave no room unused in it.
type clientHello struct {
	header [recordHeader]byte // of the client's record, as far as it is read
	read   int                // bytes of header
	left   int                // bytes of the client's record that are not read yet
	part   int                // bytes of each record that Read makes
}

// readFrom reads a record that TLS reads next. p must be longer than a header. done means that the client's record has been read. A first record
// that is no handshake, or too long, is read unchanged.
func (h *clientHello) readFrom(conn io.Reader, p []byte) (n int, done bool, err error) {
	if len(p) <= recordHeader {
		return 0, false, io.ErrShortBuffer
	}
	for h.read < recordHeader {
		n, err = conn.Read(h.header[h.read:])
		if h.read += n; err != nil {
			return copy(p, h.header[:h.read]), true, err
		}
	}
	if h.part == 0 {
		length := int(binary.BigEndian.Uint16(h.header[3:]))
		if h.header[0] != recordHandshake || length == 0 || length > maxRecord {
			return copy(p, h.header[:]), true, nil
		}
		h.left, h.part = length, (length+3)/4
	}
	n, err = conn.Read(p[recordHeader:min(len(p), recordHeader+min(h.part, h.left))])
	if n == 0 {
		return 0, false, err
	}
	h.left -= n
	copy(p, h.header[:3])
	binary.BigEndian.PutUint16(p[3:], uint16(n))
	return recordHeader + n, h.left == 0, err
}
