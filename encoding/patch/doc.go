// Package patch applies patches to a document: JSON merge patch (RFC 7386), JSON patch (RFC 6902) and strategic merge patch (built-in
// kinds only).
//
// Documents, patches and results are JSON text; numbers outside of a patch keep their digits. The limits of encoding/codec hold for a
// patch but not for its result: decode a result with codec.Decode before it is stored.
package patch
