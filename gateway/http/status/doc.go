// Package status turns errors of other packages into a Kubernetes Status or, for the keys API, into a problem. It chooses every HTTP
// code for them, and the reason by which refusals are counted. It writes nothing: package response does.
package status
