// Package apiservices keeps a local APIService for each group and version that is served, as the controllers of kube-aggregator do.
package apiservices
