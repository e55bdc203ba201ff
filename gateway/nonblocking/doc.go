// Package nonblocking writes to sockets of the system what they take now.
package nonblocking
