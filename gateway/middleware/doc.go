// Package middleware has the handlers that run before the routes: metrics, traces, limits, decoded paths, and the rules for browsers.
// gateway/routes.go sets their order. Package access authenticates and authorizes.
package middleware
