// Package discovery makes the discovery documents, by which clients find groups, versions and resources, and the document of
// /version.
package discovery
