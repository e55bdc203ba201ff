// Package socket writes to TCP connections, and closes a connection whose client accepts no bytes for too long. On Linux a [Poller] reports
// the events of many sockets, which one goroutine then serves; on other platforms [NewPoller] fails, and each connection has a goroutine.
// The package depends on HTTP only for the protocol version, because a deadline works differently on an HTTP/2 stream.
package socket
