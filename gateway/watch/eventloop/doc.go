// Package eventloop serves watches that follow the log of a cache, with one event loop for each processor. Package watch passes sessions to
// a [Pool] and resumes those that fall behind the log. Without a Pool each watch keeps its goroutine.
package eventloop
