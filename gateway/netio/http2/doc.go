// Package http2 serves HTTP/2, and lets a body be written outside the handler goroutine.
//
// net/http has one goroutine that writes for a connection, and sends it a message for each piece of a body: an event for a thousand watches
// costs a thousand messages and as many replies. Here net/http still implements HTTP/2, and a [Conn] between it and TLS parses all frames.
// After a stream is hijacked ([StreamOf], [Stream.Take]), the handler may return, and the caller of Take writes its DATA frames (RFC 9113, section 6.1) with [Stream.Send],
// which does not block, and [Conn.Flush] writes the frames of many streams at once.
//
// Packages transport and eventloop hijack streams. DESIGN.md explains how the two writers share a connection.
package http2
