package http2

import (
	"encoding/binary"

	h2 "golang.org/x/net/http2"
)

// headerSize is the size of a frame's header in bytes (RFC 9113, section 4.1).
const headerSize = 9

// frameHeader is the encoded header of a frame.
type frameHeader [headerSize]byte

func (h *frameHeader) length() int { return int(h[0])<<16 | int(h[1])<<8 | int(h[2]) }

func (h *frameHeader) kind() h2.FrameType { return h2.FrameType(h[3]) }

func (h *frameHeader) has(flag h2.Flags) bool { return h2.Flags(h[4]).Has(flag) }

func (h *frameHeader) clear(flag h2.Flags) { h[4] &^= byte(flag) }

func (h *frameHeader) stream() uint32 { return binary.BigEndian.Uint32(h[5:]) & (1<<31 - 1) }

// appendFrame appends a frame to dst and returns the extended slice.
func appendFrame(dst []byte, kind h2.FrameType, flags h2.Flags, stream uint32, payload []byte) []byte {
	n := len(payload)
	dst = append(dst, byte(n>>16), byte(n>>8), byte(n), byte(kind), byte(flags))
	dst = binary.BigEndian.AppendUint32(dst, stream)
	return append(dst, payload...)
}

// endsBlock reports whether the frame is the last of a block of header fields. END_HEADERS is the same flag in HEADERS and CONTINUATION.
func (h *frameHeader) endsBlock() bool { return h.has(h2.FlagHeadersEndHeaders) }

// isBlock reports whether the frame is part of a block of header fields.
func (h *frameHeader) isBlock() bool {
	return h.kind() == h2.FrameHeaders || h.kind() == h2.FrameContinuation
}

// endsStream reports whether the frame is the last one of its sender on the stream.
func (h *frameHeader) endsStream() bool {
	switch h.kind() {
	case h2.FrameData, h2.FrameHeaders:
		return h.has(h2.FlagDataEndStream)
	case h2.FrameRSTStream:
		return true
	}
	return false
}
