package protobuf

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// The tags of fields that generated code does not name: those of the entries of a map, of a Timestamp, and of FieldsV1.
var (
	entryKey   = byte(protowire.EncodeTag(1, protowire.BytesType))
	secondsTag = byte(protowire.EncodeTag(1, protowire.VarintType))
	nanosTag   = byte(protowire.EncodeTag(2, protowire.VarintType))
	fieldsRaw  = byte(protowire.EncodeTag(1, protowire.BytesType))
)

// The entries of a map have fields for the key and for the value, of any type.
var (
	entryBytes  = []byte{byte(protowire.EncodeTag(2, protowire.BytesType))}
	entryVarint = []byte{byte(protowire.EncodeTag(2, protowire.VarintType))}
)

// begin makes room for a message of about some bytes.
func (t *transcoder) begin(size int) {
	if cap(t.out) < size {
		t.out = make([]byte, size+size/4)
	}
	t.out = t.out[:cap(t.out)]
	t.start = len(t.out)
}

// written returns the bytes that have been written.
func (t *transcoder) written() int { return len(t.out) - t.start }

// reserve makes room for n bytes before what has been written, and returns them.
func (t *transcoder) reserve(n int) []byte {
	if n > t.start {
		grown := make([]byte, 2*len(t.out)+n)
		start := len(grown) - t.written()
		copy(grown[start:], t.out[t.start:])
		t.out, t.start = grown, start
	}
	t.start -= n
	return t.out[t.start : t.start+n]
}

func (t *transcoder) write(text []byte) { copy(t.reserve(len(text)), text) }

func (t *transcoder) writeByte(b byte) { t.reserve(1)[0] = b }

func (t *transcoder) writeVarint(n uint64) {
	protowire.AppendVarint(t.reserve(protowire.SizeVarint(n))[:0], n)
}

// writeSize writes the size of what has been written since end bytes had been.
func (t *transcoder) writeSize(end int) { t.writeVarint(uint64(t.written() - end)) } //nolint:gosec // not negative

// writeMessage writes the content of a message, from the last field to the first.
func (t *transcoder) writeMessage(l *layout, slots int32) {
	for i := len(l.fields) - 1; i >= 0; i-- {
		f, v := &l.fields[i], t.slots[int(slots)+i]
		switch {
		case v == 0:
			t.write(f.absent)
		case f.repeats == once:
			t.writeOne(f, v, f.tag)
		case f.repeats == list:
			for element := t.values[v].child; element != 0; element = t.values[element].previous {
				t.writeOne(f, element, f.tag)
			}
		default:
			t.writeEntries(f, v)
		}
	}
}

// writeEntries writes a map.
func (t *transcoder) writeEntries(f *field, v int32) {
	tag := entryBytes
	if f.form == formNumber || f.form == formBool {
		tag = entryVarint
	}
	for entry := t.values[v].child; entry != 0; entry = t.values[entry].previous {
		end := t.written()
		t.writeOne(f, entry, tag)
		t.writeText(t.values[entry].key)
		t.writeByte(entryKey)
		t.writeSize(end)
		t.write(f.tag)
	}
}

// writeOne writes one value with a tag.
func (t *transcoder) writeOne(f *field, v int32, tag []byte) {
	end := t.written()
	switch one := &t.values[v]; f.form {
	case formText, formBytes, formCustom:
		t.writeText(one.text)
	case formNumber, formBool:
		t.writeVarint(one.number)
	case formMessage:
		t.writeMessage(f.message, one.child)
		t.writeSize(end)
	case formTime:
		t.writeByte(0)
		t.writeByte(nanosTag)
		t.writeVarint(one.number)
		t.writeByte(secondsTag)
		t.writeSize(end)
	case formFields:
		t.writeText(one.text)
		t.writeByte(fieldsRaw)
		t.writeSize(end)
	}
	t.write(tag)
}

// writeText writes a text after its size.
func (t *transcoder) writeText(text []byte) {
	t.write(text)
	t.writeVarint(uint64(len(text)))
}
