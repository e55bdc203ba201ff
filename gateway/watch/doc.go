// Package watch opens a watch, writes its frames until its deadline, and ends it. It registers the open watches, limits their number per
// user, ends them at shutdown and when their caller loses the right to them, and counts what they send.
//
// Package transport writes frames over HTTP/1.1, HTTP/2 and WebSocket. Package eventloop serves watches that only follow the log, without a
// goroutine for each. Packages api and keys choose the cache, the query and the encoder of a watch. Package watchcache produces the events.
package watch
