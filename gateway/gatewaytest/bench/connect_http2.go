package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"

	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// streamsPerConnection is below the limit of usual servers.
	streamsPerConnection = 100
	// window is the flow-control window, and credit the number of bytes after which the client extends it.
	window = 1 << 30
	credit = 64 << 20
)

// http2Client is a connection with many streams, read by one goroutine.
type http2Client struct {
	fleet   *fleet
	framer  *h2.Framer
	streams map[uint32]*http2Stream
	owed    uint32 // bytes of the connection that have not been credited
}

type http2Stream struct {
	watcher *watcher
	owed    uint32
}

// connectHTTP2 spreads the watches over connections.
func connectHTTP2(f *fleet, e endpoint, requests []request) error {
	return eachOf(groupsOf(requests, streamsPerConnection), dialers, func(group []request) error {
		conn, err := dialTLS(f, e, "h2")
		if err != nil {
			return err
		}
		if got := conn.ConnectionState().NegotiatedProtocol; got != "h2" {
			return notMeasured("the server speaks no HTTP/2")
		}
		c := &http2Client{fleet: f, streams: map[uint32]*http2Stream{}}
		if err := c.request(conn, group); err != nil {
			return err
		}
		c.framer = h2.NewFramer(conn, bufio.NewReaderSize(conn, 64<<10))
		c.framer.SetReuseFrames()
		f.running.Go(func() { f.broke(c.read(), c.watchers()...) })
		return nil
	})
}

func (c *http2Client) watchers() []*watcher {
	var all []*watcher
	for _, stream := range c.streams {
		all = append(all, stream.watcher)
	}
	return all
}

// request opens the connection and all its streams in one go.
func (c *http2Client) request(conn *tls.Conn, group []request) error {
	writer := bufio.NewWriter(conn)
	framer := h2.NewFramer(writer, nil)
	if _, err := writer.WriteString(h2.ClientPreface); err != nil {
		return err
	}
	if err := framer.WriteSettings(h2.Setting{ID: h2.SettingInitialWindowSize, Val: window}, h2.Setting{ID: h2.SettingEnablePush}); err != nil {
		return err
	}
	if err := framer.WriteWindowUpdate(0, window); err != nil {
		return err
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i, r := range group {
		block.Reset()
		fields := [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", r.address}, {":path", r.path}}
		if r.token != "" {
			fields = append(fields, [2]string{"authorization", "Bearer " + r.token})
		}
		for _, field := range fields {
			if err := encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
				return err
			}
		}
		id := uint32(2*i + 1)
		c.streams[id] = &http2Stream{watcher: r.watcher}
		if err := framer.WriteHeaders(h2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}); err != nil {
			return err
		}
	}
	return writer.Flush()
}

// read reads frames until the connection ends, and returns the reason.
func (c *http2Client) read() error {
	decoder := hpack.NewDecoder(4096, nil)
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return err
		}
		switch frame := frame.(type) {
		case *h2.DataFrame:
			err = c.data(frame)
		case *h2.HeadersFrame:
			err = c.head(decoder, frame)
		case *h2.SettingsFrame:
			if !frame.IsAck() {
				err = c.framer.WriteSettingsAck()
			}
		case *h2.PingFrame:
			if !frame.IsAck() {
				err = c.framer.WritePing(true, frame.Data)
			}
		case *h2.RSTStreamFrame:
			err = fmt.Errorf("stream reset: %v", frame.ErrCode)
		case *h2.GoAwayFrame:
			err = fmt.Errorf("the server sent GOAWAY: %v", frame.ErrCode)
		}
		if err != nil {
			return err
		}
	}
}

func (c *http2Client) head(decoder *hpack.Decoder, frame *h2.HeadersFrame) error {
	if frame.StreamEnded() {
		return fmt.Errorf("the server ended stream %d", frame.StreamID)
	}
	fields, err := decoder.DecodeFull(frame.HeaderBlockFragment())
	if err != nil {
		return err
	}
	if len(fields) == 0 || fields[0].Value != "200" {
		return fmt.Errorf("answer %v", fields)
	}
	c.fleet.heads.arrive()
	return nil
}

func (c *http2Client) data(frame *h2.DataFrame) error {
	stream := c.streams[frame.StreamID]
	stream.watcher.lines.feed(frame.Data())
	c.owed += frame.Length
	stream.owed += frame.Length
	if stream.owed >= credit {
		if err := c.framer.WriteWindowUpdate(frame.StreamID, stream.owed); err != nil {
			return err
		}
		stream.owed = 0
	}
	if c.owed >= credit {
		if err := c.framer.WriteWindowUpdate(0, c.owed); err != nil {
			return err
		}
		c.owed = 0
	}
	if frame.StreamEnded() {
		return fmt.Errorf("the server ended stream %d", frame.StreamID)
	}
	return nil
}
