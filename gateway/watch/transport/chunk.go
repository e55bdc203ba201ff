package transport

import "strconv"

// LastChunk ends a chunked body (RFC 9112, section 7.1), without trailers.
const LastChunk = "0\r\n\r\n"

// AppendChunk appends line to dst as one chunk (RFC 9112, section 7.1) and returns the extended slice. line must not be empty, because an
// empty chunk ends the body.
func AppendChunk(dst, line []byte) []byte {
	dst = append(strconv.AppendUint(dst, uint64(len(line)), 16), "\r\n"...)
	dst = append(dst, line...)
	return append(dst, "\r\n"...)
}
