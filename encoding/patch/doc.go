// Package patch applies the patches of the protocol to a document: JSON merge patch (RFC 7386), JSON patch (RFC 6902) and
// strategic merge patch (the built-in kinds only).
//
// Each takes and gives the bytes of a JSON object and changes no number it is not told to. A patch is held to the limits of
// encoding/codec; a result is not, so whoever stores it decodes it with codec.Decode first.
package patch
