// Package keyapi is a client of the keys API of a gateway, /v1/keys and /v1/txn.
package keyapi
