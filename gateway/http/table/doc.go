// Package table has the columns that `kubectl get` shows: of built-in kinds, of custom resources and of mounts.
// [For] finds the columns of a resource. A cell never fails, whatever the object looks like.
package table
