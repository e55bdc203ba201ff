// Package watch opens a watch, writes its frames until its deadline, and ends it. It registers the open watches: their limit per user,
// their end at shutdown or when their caller loses the right to them, and their statistics.
//
// The packages below it do the rest: transport writes frames over HTTP/1.1, HTTP/2 and WebSocket, and eventloop serves watches that only
// follow the log, without a goroutine for each. The handlers of api and keys say what is watched; the events come from package watchcache.
package watch
