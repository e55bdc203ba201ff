// Package webserver serves HTTP or HTTPS on several addresses, with timeouts, a limit of connections per client address, and quiet
// logs.
package webserver
