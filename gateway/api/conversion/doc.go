// Package conversion gives the watch cache of one version of a custom resource a store whose values are objects of that version, as a webhook
// converts them.
package conversion
