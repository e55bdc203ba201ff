// Package delta writes a value as the difference to another one that resembles it.
package delta

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// A delta is a value as the difference to another one: instructions of two kinds, each with a number of bytes. The number is followed by the
// offset of a piece of the base, or by new bytes.
const (
	copyPiece = 0 // of the base
	insert    = 1 // new bytes

	kindBits = 1
	// gram is how many bytes of the base are looked up at a time: no shorter piece is found.
	gram = 8
)

// ErrDamaged is the error for a delta that does not fit its base.
var ErrDamaged = errors.New("a difference does not fit the value before it")

// Differ makes deltas. It is for one goroutine; the zero value is ready.
type Differ struct {
	places []uint32 // one more than the offset of a piece of the base, by the hash of the piece; zero: none
}

// Append appends the difference between two values. Its size is that of the changed parts, and a few bytes for each.
func (d *Differ) Append(dst, base, value []byte) []byte {
	d.index(base)
	start := 0 // of the bytes that are in no piece yet
	for at := 0; at+gram <= len(value); {
		offset, length := d.find(base, value[at:])
		if length == 0 {
			at++
			continue
		}
		back := commonEnd(base[:offset], value[start:at])
		dst = appendInsert(dst, value[start:at-back])
		dst = binary.AppendUvarint(dst, uint64(length+back)<<kindBits|copyPiece)
		dst = binary.AppendUvarint(dst, uint64(offset-back))
		at += length
		start = at
	}
	return appendInsert(dst, value[start:])
}

func appendInsert(dst, bytes []byte) []byte {
	if len(bytes) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(bytes))<<kindBits|insert)
	return append(dst, bytes...)
}

// index records the pieces of the base whose offset is a multiple of gram. Every piece of twice that length contains one.
func (d *Differ) index(base []byte) {
	size := 1 << bits.Len(uint(len(base)/gram*2))
	if cap(d.places) < size {
		d.places = make([]uint32, size)
	}
	d.places = d.places[:size]
	clear(d.places)
	for at := 0; at+gram <= len(base); at += gram {
		if place := d.place(base[at:]); *place == 0 {
			*place = uint32(at) + 1
		}
	}
}

func (d *Differ) place(piece []byte) *uint32 {
	const odd = 0x9e3779b97f4a7c15 // of Fibonacci hashing
	hash := binary.LittleEndian.Uint64(piece) * odd
	return &d.places[hash>>32&uint64(len(d.places)-1)]
}

// find returns the piece of the base with which the value begins; a length of zero: none is known.
func (d *Differ) find(base, value []byte) (offset, length int) {
	place := *d.place(value)
	if place == 0 {
		return 0, 0
	}
	offset = int(place) - 1
	for offset+length < len(base) && length < len(value) && base[offset+length] == value[length] {
		length++
	}
	if length < gram {
		return 0, 0
	}
	return offset, length
}

// commonEnd returns how many bytes are equal at the ends of a and b.
func commonEnd(a, b []byte) (n int) {
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// AppendValue appends the value that has a delta to a base. The error is ErrDamaged.
func AppendValue(value, base, delta []byte) ([]byte, error) {
	for len(delta) > 0 {
		head, n := binary.Uvarint(delta)
		if n <= 0 {
			return nil, ErrDamaged
		}
		delta = delta[n:]
		length := head >> kindBits
		if head&1 == insert {
			if length > uint64(len(delta)) {
				return nil, ErrDamaged
			}
			value, delta = append(value, delta[:length]...), delta[length:]
			continue
		}
		offset, n := binary.Uvarint(delta)
		if n <= 0 || offset > uint64(len(base)) || length > uint64(len(base))-offset {
			return nil, ErrDamaged
		}
		value, delta = append(value, base[offset:offset+length]...), delta[n:]
	}
	return value, nil
}
