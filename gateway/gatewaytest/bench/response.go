package main

import (
	"bytes"
	"fmt"
	"strconv"
)

// response reads an HTTP/1.1 response in pieces of any size, and passes its body on as slices of these pieces. It copies only the header.
type response struct {
	body func(p []byte) // gets the content
	head func()         // called once when the header is complete; nil: none

	state  responseState
	start  []byte // the header, until it is complete
	left   int64  // remaining bytes of the chunk, or of the body
	digits int    // of the chunk size so far
}

type responseState int

const (
	inHead responseState = iota
	inSize
	inSizeEnd // after the CR
	inChunk
	inChunkEnd
	inTrailer
	inBody // with a Content-Length
	done
)

// complete reports whether the response has ended.
func (r *response) complete() bool { return r.state == done }

// feed reads the next bytes.
func (r *response) feed(p []byte) error {
	for len(p) > 0 {
		n, err := r.step(p)
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// step reads some of the bytes, at least one.
func (r *response) step(p []byte) (n int, err error) {
	switch r.state {
	case inHead:
		return r.takeHead(p)
	case inSize, inSizeEnd:
		return 1, r.takeSize(p[0])
	case inChunk, inBody:
		n := int(min(r.left, int64(len(p))))
		r.left -= int64(n)
		r.body(p[:n])
		if r.left == 0 && r.state == inBody {
			r.state = done
		} else if r.left == 0 {
			r.state = inChunkEnd
		}
		return n, nil
	case inChunkEnd:
		if p[0] == '\n' {
			r.state = inSize
		} else if p[0] != '\r' {
			return 0, fmt.Errorf("a chunk does not end where its size says, but with %q", p[:min(20, len(p))])
		}
		return 1, nil
	case inTrailer:
		if p[0] == '\n' {
			r.state = done
		}
		return 1, nil
	default:
		return 0, fmt.Errorf("bytes after the end of the answer: %.40q", p)
	}
}

func (r *response) takeSize(c byte) error {
	if r.state == inSizeEnd {
		r.digits = 0
		r.state = inChunk
		if r.left == 0 {
			r.state = inTrailer
		}
		return nil
	}
	digit := bytes.IndexByte([]byte("0123456789abcdef"), c)
	switch {
	case c == '\r' && r.digits > 0:
		r.state = inSizeEnd
	case digit < 0 || r.digits > 7:
		return fmt.Errorf("chunk size with %q", c)
	default:
		r.left = r.left<<4 | int64(digit)
		r.digits++
	}
	return nil
}

func (r *response) takeHead(p []byte) (int, error) {
	before := len(r.start)
	r.start = append(r.start, p...)
	end := bytes.Index(r.start, []byte("\r\n\r\n"))
	if end < 0 {
		return len(p), nil
	}
	head := r.start[:end+4]
	if err := r.readHead(head); err != nil {
		return 0, err
	}
	n := len(head) - before
	r.start = nil
	if r.head != nil {
		r.head()
	}
	return n, nil
}

func (r *response) readHead(head []byte) error {
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 20")) {
		return fmt.Errorf("answer %.300q", head)
	}
	lower := bytes.ToLower(head)
	if bytes.Contains(lower, []byte("\r\ntransfer-encoding: chunked\r\n")) {
		r.state = inSize
		return nil
	}
	_, length, ok := bytes.Cut(lower, []byte("\r\ncontent-length: "))
	if !ok {
		return fmt.Errorf("answer with no length: %.300q", head)
	}
	length, _, _ = bytes.Cut(length, []byte("\r\n"))
	var err error
	if r.left, err = strconv.ParseInt(string(length), 10, 64); err != nil {
		return err
	}
	r.state = inBody
	if r.left == 0 {
		r.state = done
	}
	return nil
}
