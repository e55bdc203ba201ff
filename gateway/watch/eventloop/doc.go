// Package eventloop serves the watches that follow the log of a cache, from one goroutine for each processor. Package watch hands them over
// and takes back those that fall behind; without this package every watch keeps its goroutine.
package eventloop
