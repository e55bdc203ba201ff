package encoding

// AppendMetadata appends a PartialObjectMetadata of the given apiVersion: doc, a document made by Normalize or Marshal, with
// nothing left but its metadata, which is copied as it stands.
func AppendMetadata(dst []byte, apiVersion string, doc []byte) []byte {
	dst = appendTypeMeta(dst, apiVersion, "PartialObjectMetadata")
	dst = append(dst, `"metadata":`...)
	dst = append(dst, findMetadata(doc)...)
	return append(dst, '}')
}

// findMetadata returns the text of metadata. Normalize sees to it that there is one, and no second.
func findMetadata(doc []byte) []byte {
	metadata := []byte("{}")
	s := scanner{doc: doc}
	s.object(func(name []byte) bool {
		if !is(name, "metadata") {
			return s.skip()
		}
		if raw, ok := s.raw(); ok {
			metadata = raw
		}
		return false // it is found: stop
	})
	return metadata
}
