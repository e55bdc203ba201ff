// Package transport writes the frames of one stream to its client, over a hijacked HTTP/1.1 connection, an HTTP/2 stream, a WebSocket or
// net/http. It compresses them if the client accepts that. It does not depend on events or caches. Packages watch and eventloop use it.
package transport
