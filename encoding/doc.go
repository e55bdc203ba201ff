// Package encoding turns stored values into documents, and documents into frames.
//
// Normalize turns a stored value into an Object, the JSON document for clients on one line; SetResourceVersion changes it without
// decoding. Marshal returns the stored form of an object. AppendEvent and AppendError append the lines of a watch stream,
// AppendListHead, AppendTableHead and AppendListTail surround the documents of a list, AppendStatus appends an error.
//
// The package has no goroutines, no clock and no I/O. It does not know stores, HTTP or the formats of clients: encoding/codec and
// encoding/patch decode requests.
package encoding
