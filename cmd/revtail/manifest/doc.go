// Package manifest reads the objects in files, folders, URLs and standard input, as kubectl reads them, and makes manifests of past objects.
package manifest
