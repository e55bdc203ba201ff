// Package response writes HTTP responses: it negotiates the representation that a client accepts, renders objects, lists, tables and
// errors in it, and compresses them. Handlers and middleware use it; the frames of watches are package watch's.
package response
