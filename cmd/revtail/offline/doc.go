// Package offline serves the file of an etcd that does not run, in this process.
package offline
