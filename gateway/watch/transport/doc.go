// Package transport writes the frames of one stream to its client: over a hijacked HTTP/1.1 connection, an HTTP/2 stream, a WebSocket or
// net/http, compressed if the client asks for that. It knows no events and no caches. Packages watch and eventloop use it.
package transport
