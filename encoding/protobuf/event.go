package protobuf

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of meta/v1 WatchEvent and of its runtime.RawExtension.
const (
	eventType   protowire.Number = 1
	eventObject protowire.Number = 2
	objectRaw   protowire.Number = 1
)

// AppendFrame appends the frame of an event of a watch: the length of the event in four bytes, and the event. object is what AppendObject or
// AppendStatus has made.
func AppendFrame(dst []byte, kind string, object []byte) []byte {
	start := len(dst)
	dst = AppendEvent(append(dst, 0, 0, 0, 0), kind, object)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// AppendEvent appends an event of a watch without its length, as the messages of a WebSocket have it. An event has no envelope of its own,
// only its object does.
func AppendEvent(dst []byte, kind string, object []byte) []byte {
	dst = append(appendField(dst, eventType, len(kind)), kind...)
	raw := protowire.SizeTag(objectRaw) + protowire.SizeBytes(len(object))
	return append(appendField(appendField(dst, eventObject, raw), objectRaw, len(object)), object...)
}
