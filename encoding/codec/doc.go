// Package codec decodes the bodies of requests, in JSON or YAML, to maps.
//
// It checks limits before it decodes, so that a small request cannot allocate much memory: MaxDepth levels, MaxTokens tokens, valid
// UTF-8, and for YAML the size of expanded aliases. The caller limits the size of a body. YAML is converted to JSON first, so that
// both have the same types, errors and duplicates.
package codec
