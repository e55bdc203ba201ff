// Package patch applies patches to a document: JSON merge patch (RFC 7386), JSON patch (RFC 6902) and strategic merge patch (built-in
// kinds only).
//
// Documents and results are values of jsontext.Unmarshal, patches are JSON text. The time of a patch grows no faster than n log n with the
// sizes of the document and the patch; a JSON patch may move 100 million list elements besides. The limits of encoding/codec hold for a
// patch but not for its result: check a result by codec.Tokens before anything else reads it.
package patch
