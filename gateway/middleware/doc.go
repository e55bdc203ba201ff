// Package middleware has the chain that every request passes before the routes: metrics, traces, limits, decoded paths, and the rules for
// browsers. gateway/routes.go has its order. Authentication and authorization are package access's.
package middleware
