// Package access authenticates and authorizes requests before the routes, authorizes open watches again when rights change, and writes
// the audit log.
//
// The packages below it do one part each: authentication finds the user of a request, authorization evaluates a policy, audit writes
// records, certificate reloads the certificates of listeners. Handlers get the caller of a request from here, and middleware comes
// before and after it in the chain; nothing here reads or writes etcd.
package access
