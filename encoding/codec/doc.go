// Package codec decodes what clients send: the body of a request, in JSON or YAML, to maps.
//
// A body is held to limits before anything is built from it, so that a small request cannot cost much memory: MaxDepth levels,
// MaxTokens tokens, valid UTF-8, and for YAML a bound on what its aliases expand to. The size of a body in bytes is for its
// reader to limit. YAML is rewritten as JSON first, so both give the same types, errors and duplicates.
package codec
