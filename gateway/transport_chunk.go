package gateway

import "strconv"

// lastChunk ends a chunked body (RFC 9112, section 7.1).
const lastChunk = "0\r\n\r\n"

func appendChunk(dst, line []byte) []byte {
	dst = append(strconv.AppendUint(dst, uint64(len(line)), 16), "\r\n"...)
	dst = append(dst, line...)
	return append(dst, "\r\n"...)
}
