package protobuf

// AppendDecoded is AppendObject by the Go type alone.
func (k *Kind) AppendDecoded(dst, document []byte) ([]byte, error) {
	return k.appendDecoded(dst, document)
}

// Transcodes reports whether AppendObject does without the Go type.
func (k *Kind) Transcodes(document []byte) bool {
	l := k.layout()
	if l == nil {
		return false
	}
	_, ok := l.appendTo(nil, k, document)
	return ok
}
