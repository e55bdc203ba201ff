package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
)

// frameReader reads the events of a control connection: the length in four bytes, then the bytes.
type frameReader struct {
	r     *bufio.Reader
	frame []byte
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, 256<<10)}
}

// next returns the next frame, which is valid until the following call.
func (f *frameReader) next() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if cap(f.frame) < n {
		f.frame = make([]byte, n)
	}
	f.frame = f.frame[:n]
	_, err := io.ReadFull(f.r, f.frame)
	return f.frame, err
}

// more reports whether another frame has been received already.
func (f *frameReader) more() bool { return f.r.Buffered() > 0 }

// control is the publisher of a null fan-out: it sends prepared events.
type control struct {
	conn   net.Conn
	object []byte

	mu      sync.Mutex // guards the fields below
	newest  int64      // revision
	waiting []chan error
	broken  error
}

func dialControl(ctx context.Context, address string) (*control, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &control{conn: conn, object: configMap(objectName(0), "all", 0), newest: 1_000_000}
	go c.readAcks()
	return c, nil
}

func (c *control) close() { _ = c.conn.Close() }

func (c *control) revision(context.Context) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newest, nil
}

func (c *control) publish(ctx context.Context, _ int) (int64, error) {
	acked := make(chan error, 1)
	revision, err := c.send(acked)
	if err != nil {
		return 0, err
	}
	select {
	case err := <-acked:
		return revision, err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// send sends the next event; acked gets its outcome.
func (c *control) send(acked chan error) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return 0, c.broken
	}
	c.newest++
	line := eventLine(c.object, c.newest)
	c.waiting = append(c.waiting, acked)
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(line)), uint32(len(line)))
	_, err := c.conn.Write(append(frame, line...))
	return c.newest, err
}

// readAcks reads a byte for each event, in order, until the connection ends.
func (c *control) readAcks() {
	acks := make([]byte, 4096)
	for {
		n, err := c.conn.Read(acks)
		c.mu.Lock()
		for _, acked := range c.waiting[:n] {
			acked <- nil
		}
		c.waiting = c.waiting[n:]
		if err != nil {
			c.broken = fmt.Errorf("the null fan-out: %w", err)
			for _, acked := range c.waiting {
				acked <- c.broken
			}
			c.waiting = nil
		}
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}
