// Package object has the objects that clients write. It decodes a body, checks the types of the fields, sets defaults, compares
// objects, and writes the metadata that belongs to the server. It converts objects to the views of subresources and back.
package object
