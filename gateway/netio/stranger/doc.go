// Package stranger bounds the memory of strangers: connections on which no request has been authenticated yet.
//
// A [Registry] has all strangers. The parts that read from a connection charge the Stranger for what they keep: the listener for the
// connection itself, for its TLS handshake and for header fields, package http2 for requests in progress. Package access calls
// [Stranger.Known] when a request has been authenticated; from then on the connection is charged nothing, at the cost of one atomic load.
package stranger
