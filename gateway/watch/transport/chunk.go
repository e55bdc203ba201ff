package transport

import "strconv"

// LastChunk ends a chunked body (RFC 9112, section 7.1).
const LastChunk = "0\r\n\r\n"

// AppendChunk appends a chunk (RFC 9112, section 7.1). An empty line would end the body.
func AppendChunk(dst, line []byte) []byte {
	dst = append(strconv.AppendUint(dst, uint64(len(line)), 16), "\r\n"...)
	dst = append(dst, line...)
	return append(dst, "\r\n"...)
}
