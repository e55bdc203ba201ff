// Package client is an HTTP client of a gateway. It reads the served resources, lists and tables, and follows watches across lost
// connections.
package client
