// Package claim finds out which program owns the data under a prefix of etcd, and permits only the writes that follow from that.
//
// A marker in etcd makes data the gateway's own; an empty prefix gets its marker with the first write of a client. On foreign data the
// gateway writes nothing without a client's request, and clients can only read. DESIGN.md has the reasons.
package claim
