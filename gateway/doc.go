// Package gateway speaks HTTP: it serves what etcdstore holds as resources that can be listed, watched and written in the
// manner of the Kubernetes API.
//
// Start with routes.go, every URL of the product on one screen; then watch.go, the life of a watch. DESIGN.md tells why.
package gateway
