// Package completion completes arguments and flags in a shell: with the resources, objects and namespaces of a gateway, the contexts
// of a kubeconfig, and the values of enumerations.
package completion
