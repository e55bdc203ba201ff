// Package http2 serves HTTP/2 such that the body of an answer can be written by somebody else than its handler.
//
// net/http has one goroutine that writes for a connection, and makes each piece of a body a message to it: what a watch sends to a
// thousand clients is a thousand messages there and back. Here net/http goes on to speak HTTP/2, and a [Conn] between it and TLS
// sees all frames pass. Of a stream that has been taken ([Of], [Stream.Take]) the frames of the body (DATA, RFC 9113, section 6.1)
// come from its taker, who never waits: those of many streams leave in one write.
//
// DESIGN.md says how the two share a connection.
package http2
