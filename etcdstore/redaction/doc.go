// Package redaction is an etcdstore.Store over another one that shows no values of Secrets. A text with the length and a keyed digest is in
// their place, so that a reader sees which of them are equal.
package redaction
