// Package gotype converts decoded JSON to the Go types of Kubernetes, and back: what runtime.DefaultUnstructuredConverter does, in a fraction
// of its time, and JSON documents to these types. A plan is compiled once for each type. It looks up the members that an object has, and not all
// fields of the type.
package gotype
