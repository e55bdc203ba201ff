package protobuf

import (
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

// pieceSize is the size, in bytes, that the pieces of a List do not exceed, unless an item alone does.
const pieceSize = 64 << 10

// List is the protobuf form of a list. The envelope begins with the size of its content: a list cannot be sent before its last item is
// encoded.
type List struct {
	kind       *Kind // of the items
	items      protowire.Number
	metadata   protowire.Number
	head, tail []byte
	contents   [][]byte // of the items
	size       int      // of the items
}

// NewList returns an empty list of items of a kind. count is how many there will be.
func NewList(items *Kind, count int) *List {
	l := &List{kind: items, metadata: 1, items: 2, contents: make([][]byte, 0, count)}
	if items.typeMeta.APIVersion == metav1beta1.SchemeGroupVersion.String() {
		l.items, l.metadata = 1, 2 // the other way round in PartialObjectMetadataList
	}
	return l
}

// Add appends an object, which AppendObject has made of the kind, and which must not change.
func (l *List) Add(object []byte) {
	content := contentOf(object)
	l.contents = append(l.contents, content)
	l.size += protowire.SizeTag(l.items) + protowire.SizeBytes(len(content))
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

// Pieces yields the parts of the list, which Finish has completed. A part is right until the next one.
func (l *List) Pieces() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		piece := append(make([]byte, 0, min(l.Size(), pieceSize)), l.head...)
		for _, content := range l.contents {
			if len(piece)+protowire.SizeTag(l.items)+protowire.SizeBytes(len(content)) > pieceSize {
				if !yield(piece) {
					return
				}
				piece = piece[:0]
			}
			piece = append(appendField(piece, l.items, len(content)), content...)
		}
		_ = yield(append(piece, l.tail...))
	}
}

// Size returns the sum of the sizes of Pieces.
func (l *List) Size() int { return len(l.head) + l.size + len(l.tail) }
