// Package pods binds Pods to Nodes and evicts them, as the subresources binding and eviction of a cluster do.
package pods
