// Package plain is what the plain dialect says: which keys of etcd a URL means, who may have them opened, what a query asks for
// and how a transaction is written. It makes no request.
package plain
