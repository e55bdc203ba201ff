// Package customresource reads CustomResourceDefinitions: which resources they define, whether they are valid, and what their schemas do
// to objects (structural schemas, pruning, defaulting, validation rules).
//
// It has no I/O. apiextensions-apiserver does the hard parts; the DESIGN.md of package catalog, which serves the resources, has the
// reasons.
package customresource
