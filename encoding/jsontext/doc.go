// Package jsontext reads JSON text without encoding/json where that is too slow, or loses the order of members or the digits of
// numbers: Scanner steps over a text, Lookup and Member find a value in it, Unmarshal decodes it to maps and Parse to a tree that
// keeps the order.
//
// If a member occurs twice in one JSON object, the last value counts, as in encoding/json.
package jsontext
