// Package table has the columns that `kubectl get` shows: of kinds with a printer, of custom resources and their definitions, and of mounts.
// [For] finds the columns of a resource. A cell never fails, whatever the object looks like.
package table
