// Package claim determines the owner of the data under a prefix of etcd, and restricts the writes of a gateway accordingly.
//
// Data is the gateway's own where a marker says so; an empty prefix gets its marker with the first write of a client. On foreign
// data the gateway writes nothing without a client's request, and clients read only. DESIGN.md tells why.
package claim
