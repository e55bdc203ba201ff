// Package webhook makes the clients that call webhooks, for admission and for conversion: without credentials, with a bound on the answer, and for
// URLs only.
package webhook
