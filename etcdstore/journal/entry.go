package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"revtail/etcdstore"
)

// Keys of the database begin with a kind, and but for the first with the number of a range.
const (
	rangeKind  = 'r' // of the number of a range: the Range, whose Through may be that of an earlier moment
	newestKind = 'n' // of the number of a range: its Through
	stateKind  = 's' // of a key and a revision: an entry
	eventKind  = 'e' // of a revision and a number in it: the key that changed, and when the event arrived
	indexKind  = 'k' // of a key that has entries: empty
	timeKind   = 't' // of a time, and the revision of the last event that had arrived then
)

// headSize is the size of a kind and the number of a range.
const headSize = 1 + 4

// head begins the keys of one kind and range.
func head(kind byte, number uint32) []byte {
	return binary.BigEndian.AppendUint32(append(make([]byte, 0, 64), kind), number)
}

// An entry is the state of a key from a revision on: flags, and for a state that exists the fields of etcd and the value.
const (
	deletedFlag = 1 << iota
	deltaFlag   // the value is the difference to the entry before
	omittedFlag // the value is not kept
)

// maxDepth bounds how many differences are applied to read a value.
const maxDepth = 24

// entry is the content of an entry.
type entry struct {
	deleted bool
	omitted bool // the value is not kept
	depth   int  // how many entries before it are needed; zero: none
	created etcdstore.Revision
	version int64
	lease   int64
	value   []byte // or a delta
}

func (e entry) encode() []byte {
	if e.deleted {
		return []byte{deletedFlag}
	}
	flags := byte(0)
	if e.depth > 0 {
		flags |= deltaFlag
	}
	if e.omitted {
		flags |= omittedFlag
	}
	out := append(make([]byte, 0, len(e.value)+32), flags)
	for _, number := range []int64{int64(e.depth), int64(e.created), e.version, e.lease} {
		out = binary.AppendUvarint(out, uint64(number))
	}
	return append(out, e.value...)
}

var errEntry = errors.New("an entry of the journal is damaged")

// parseEntry reads an entry. Its value is a part of data.
func parseEntry(data []byte) (e entry, err error) {
	if len(data) == 0 {
		return e, errEntry
	}
	flags := data[0]
	if flags&deletedFlag != 0 {
		return entry{deleted: true}, nil
	}
	data = data[1:]
	var numbers [4]int64
	for i := range numbers {
		number, n := binary.Uvarint(data)
		if n <= 0 {
			return e, errEntry
		}
		numbers[i], data = int64(number), data[n:]
	}
	e = entry{omitted: flags&omittedFlag != 0, depth: int(numbers[0]), created: etcdstore.Revision(numbers[1]), version: numbers[2], lease: numbers[3], value: data}
	if (e.depth > 0) != (flags&deltaFlag != 0) || e.depth > maxDepth {
		return e, errEntry
	}
	return e, nil
}

// keyEnd ends a key in a key of the database. A zero byte in a key is followed by escaped, so that keys are in the order of etcd.
const (
	escaped = 0xff
	keyEnd  = 0x01
)

// appendKey appends an etcd key in the form whose order, with what follows, is that of the keys.
func appendKey(dst []byte, key string) []byte {
	for i := range len(key) {
		if dst = append(dst, key[i]); key[i] == 0 {
			dst = append(dst, escaped)
		}
	}
	return dst
}

// stateKey returns the key of an entry.
func stateKey(number uint32, key string, revision etcdstore.Revision) []byte {
	return binary.BigEndian.AppendUint64(appendStateName(make([]byte, 0, headSize+len(key)+16), number, key), uint64(revision))
}

// appendStateName appends what the keys of all entries of an etcd key begin with, and no others.
func appendStateName(dst []byte, number uint32, key string) []byte {
	return append(appendKey(binary.BigEndian.AppendUint32(append(dst, stateKind), number), key), 0, keyEnd)
}

// statePrefix begins the keys of the entries of all etcd keys with a prefix.
func statePrefix(number uint32, prefix string) []byte {
	return appendKey(head(stateKind, number), prefix)
}

// afterKey is greater than the keys of all entries of an etcd key, and less than those of the next one.
func afterKey(number uint32, key string) []byte { return append(statePrefix(number, key), 0, keyEnd+1) }

// parseStateKey returns the etcd key and the revision of an entry.
func parseStateKey(data []byte) (key string, revision etcdstore.Revision, err error) {
	const tail = 2 + 8
	if len(data) < headSize+tail {
		return "", 0, errEntry
	}
	raw, rest := data[headSize:len(data)-tail], data[len(data)-tail:]
	if rest[0] != 0 || rest[1] != keyEnd {
		return "", 0, errEntry
	}
	if bytes.IndexByte(raw, 0) >= 0 {
		raw = bytes.ReplaceAll(raw, []byte{0, escaped}, []byte{0})
	}
	return string(raw), etcdstore.Revision(binary.BigEndian.Uint64(rest[2:])), nil
}

// eventKey returns the key of an event: index counts the events of a revision.
func eventKey(number uint32, revision etcdstore.Revision, index int) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(head(eventKind, number), uint64(revision)), uint32(index))
}

func eventValue(key string, arrived time.Time) []byte {
	return append(binary.AppendVarint(nil, arrived.UnixMilli()), key...)
}

// event is an entry of the index of events.
type event struct {
	revision etcdstore.Revision
	key      string
	arrived  time.Time
}

func parseEvent(key, value []byte) (event, error) {
	arrived, n := binary.Varint(value)
	if len(key) != headSize+8+4 || n <= 0 {
		return event{}, errEntry
	}
	return event{etcdstore.Revision(binary.BigEndian.Uint64(key[headSize:])), string(value[n:]), time.UnixMilli(arrived)}, nil
}

// timeKey returns the key for the revision that had arrived at a time.
func timeKey(number uint32, at time.Time, revision etcdstore.Revision) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(head(timeKind, number), uint64(at.UnixMilli())), uint64(revision))
}

func parseTimeKey(key []byte) (time.Time, etcdstore.Revision, error) {
	if len(key) != headSize+8+8 {
		return time.Time{}, 0, errEntry
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(key[headSize:]))), etcdstore.Revision(binary.BigEndian.Uint64(key[headSize+8:])), nil
}

// damagedError names the key of a value that cannot be read.
func damagedError(key string, revision etcdstore.Revision, cause error) error {
	return fmt.Errorf("the journal cannot read %q at revision %d: %w", key, revision, cause)
}
