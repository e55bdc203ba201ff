// Package customresource understands CustomResourceDefinitions: which resources they define, whether they are valid, and
// what their schemas demand of objects (structural schemas, pruning, defaulting, validation rules).
//
// It is pure: it reads and writes nothing. apiextensions-apiserver does the hard parts; DESIGN.md of the gateway tells why it
// is worth its weight.
package customresource
