// Package socket writes to TCP connections, and cuts a client that takes nothing for too long. On Linux a [Poller] reports what
// happened to many sockets, so that one goroutine serves them; elsewhere [NewPoller] fails and each connection has a goroutine.
// Of HTTP it knows the version only, because a deadline is set in another way on a stream of HTTP/2.
package socket
