// Package encoding speaks bytes: the values of a store become documents, documents become frames.
//
// Reading a store: Normalize turns a stored value into an Object, the JSON document every client is served, on one line;
// SetResourceVersion and Lookup work on such a document without decoding it. Writing to a store: Marshal and Unmarshal.
// Answering a client: AppendEvent and AppendError make the lines of a watch stream, AppendListHead, AppendTableHead and
// AppendListTail surround the documents of a list, AppendStatus says what went wrong.
//
// The package is pure: no goroutine, no clock, no I/O. What clients send comes in through encoding/codec and
// encoding/patch, which build on this package; it knows neither of them, nor a store, nor HTTP.
//
// A member that occurs twice in one JSON object counts once, with its last value, as in encoding/json.
package encoding
