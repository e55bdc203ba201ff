package encoding

import "revtail/encoding/jsontext"

// AppendMetadata appends a PartialObjectMetadata of the given apiVersion with a copy of the metadata of doc, a document of Normalize
// or Marshal.
func AppendMetadata(dst []byte, apiVersion string, doc []byte) []byte {
	dst = appendTypeMeta(dst, apiVersion, "PartialObjectMetadata")
	dst = append(dst, `"metadata":`...)
	s, _ := jsontext.Seek(doc, "metadata")
	if metadata, ok := s.Raw(); ok {
		return append(append(dst, metadata...), '}')
	}
	return append(dst, "{}}"...)
}
