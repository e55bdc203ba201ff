package main

import (
	"bytes"
	"fmt"
	"testing"
)

// TestEventLog checks that a cursor gets every frame in order, across segments.
func TestEventLog(t *testing.T) {
	l := newEventLog()
	at, _ := l.head()
	var want, got []byte
	for i := range 3 * segmentSize / 1000 {
		frame := fmt.Appendf(nil, "%0999d\n", i)
		l.append(frame)
		want = append(want, frame...)
		if i%7 == 0 {
			pending := at.pending()
			got = append(got, pending...)
			at.offset += len(pending)
		}
	}
	for pending := at.pending(); len(pending) > 0; pending = at.pending() {
		got = append(got, pending...)
		at.offset += len(pending)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}

func TestEventLogWakes(t *testing.T) {
	l := newEventLog()
	_, grown := l.head()
	select {
	case <-grown:
		t.Fatal("woken before the log has grown")
	default:
	}
	l.append([]byte("x"))
	l.wake()
	<-grown
}

// TestNullFanOutServes checks every design over every transport that it supports.
func TestNullFanOutServes(t *testing.T) {
	s := newTestStage(t)
	for _, test := range []struct {
		transport transport
		design    design
	}{
		{plain, flushPerEvent}, {plain, flushPerBatch}, {plain, chunkWrites}, {plain, sharded},
		{tls11, flushPerBatch}, {tls11, flushPerEvent}, {http2, flushPerBatch}, {http2, flushPerEvent},
	} {
		t.Run(fmt.Sprintf("%s/%s", test.transport, test.design), func(t *testing.T) {
			o := new(opening)
			defer func() { closeAll(o.closers) }()
			f, err := s.openNullFanOut(t.Context(), o, test.design, test.transport)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := f.run(t.Context(), load{events: 500}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
