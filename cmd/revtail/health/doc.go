// Package health has the command health, which reports whether a gateway is ready.
package health
