// Package http2 serves HTTP/2, and lets a body be written outside the handler goroutine.
//
// net/http has one goroutine that writes for a connection, and sends it a message for each piece of a body: an event for a thousand
// watches is a thousand messages there and back. Here net/http still speaks HTTP/2, and a [Conn] between it and TLS sees all frames. After
// a stream has been taken ([Of], [Stream.Take]), its taker writes the DATA frames (RFC 9113, section 6.1) without blocking, and those of many
// streams leave in one write.
//
// Packages transport and eventloop take streams. DESIGN.md says how the two writers share a connection.
package http2
