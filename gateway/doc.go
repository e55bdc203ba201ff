// Package gateway serves the data of an etcd over HTTP as resources that clients list, watch and write with the Kubernetes API, and as
// plain keys. It has the routes, the options, start and stop, health, and the operators' listener; cmd/revtail runs it.
//
// A program embeds a gateway with New, Server.Run and Server as an http.Handler; the Example shows it.
//
// Start with routes.go, which has every URL, and DESIGN.md, which has the packages below this one, the life of a watch and the life of
// a write.
package gateway
