// Package request reads HTTP requests: Info is what a request asks for by its method and URL, and the rest parses what several handlers
// share: query, list options, continue token and body. It checks their form only. Package access decides whether a request may do what it
// asks for.
package request
