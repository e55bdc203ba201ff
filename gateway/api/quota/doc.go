// Package quota keeps the status of ResourceQuotas, as the controller of a cluster does: what their namespaces use of their limits.
package quota
