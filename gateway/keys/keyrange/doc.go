// Package keyrange parses requests of the keys API: which keys of etcd a URL names, what the query asks for, and how a transaction
// is written. It also decides which ranges the flags open. It sends no request.
package keyrange
