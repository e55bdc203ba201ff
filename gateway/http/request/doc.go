// Package request parses the parts of HTTP requests that several handlers share: path, query, list options, continue token and body. It
// checks their form only. Whether the request may do what it says, package access decides.
package request
