// Package addresses gives Services their cluster IPs and node ports, each of them to one Service at a time, on any number of gateways.
package addresses
