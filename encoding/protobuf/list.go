package protobuf

import (
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

// pieceSize is the size, in bytes, from which List begins another piece.
const pieceSize = 64 << 10

// maxFieldHead is the largest size of the tag and the length of an item.
const maxFieldHead = 6

// List is the protobuf form of a list. The envelope begins with the size of its content: a list cannot be sent before its last item is
// encoded.
type List struct {
	kind       *Kind // of the items
	items      protowire.Number
	metadata   protowire.Number
	head, tail []byte
	pieces     [][]byte
	size       int // of the items
}

// NewList returns an empty list of items of a kind.
func NewList(items *Kind) *List {
	l := &List{kind: items, metadata: 1, items: 2}
	if items.typeMeta.APIVersion == metav1beta1.SchemeGroupVersion.String() {
		l.items, l.metadata = 1, 2 // the other way round in PartialObjectMetadataList
	}
	return l
}

// Add appends an object, which AppendObject has made of the kind.
func (l *List) Add(object []byte) {
	content := contentOf(object)
	last := len(l.pieces) - 1
	switch {
	case last < 0:
		l.pieces = [][]byte{nil} // it grows, because most lists are small
		last = 0
	case len(l.pieces[last])+len(content) > pieceSize:
		l.pieces = append(l.pieces, make([]byte, 0, max(pieceSize, len(content)+maxFieldHead)))
		last++
	}
	before := len(l.pieces[last])
	l.pieces[last] = append(appendField(l.pieces[last], l.items, len(content)), content...)
	l.size += len(l.pieces[last]) - before
}

// Finish completes the list. kind is that of the list.
func (l *List) Finish(kind string, meta metav1.ListMeta) error {
	text, err := appendMessage(appendField(nil, l.metadata, meta.Size()), &meta, meta.Size())
	if err != nil {
		return err
	}
	l.head = appendEnvelopeHead(nil, runtime.TypeMeta{APIVersion: l.kind.typeMeta.APIVersion, Kind: kind}, len(text)+l.size)
	if l.metadata < l.items {
		l.head = append(l.head, text...)
	} else {
		l.tail = text
	}
	l.tail = appendEnvelopeTail(l.tail)
	return nil
}

// Pieces yields the parts of the list, which Finish has completed.
func (l *List) Pieces() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !yield(l.head) {
			return
		}
		for _, piece := range l.pieces {
			if !yield(piece) {
				return
			}
		}
		yield(l.tail)
	}
}

// Size returns the sum of the sizes of Pieces.
func (l *List) Size() int { return len(l.head) + l.size + len(l.tail) }
