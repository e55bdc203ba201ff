package main

import "bytes"

// lines splits a stream of bytes, in pieces of any size, into lines, or into messages behind their lengths. The pieces belong to the caller,
// so the rest of the last piece is copied.
type lines struct {
	partial   []byte
	handle    func(line []byte)
	delimited bool // messages
}

func (l *lines) feed(p []byte) {
	if l.delimited {
		l.feedMessages(p)
		return
	}
	if len(l.partial) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			l.partial = append(l.partial, p...)
			return
		}
		l.partial = append(l.partial, p[:end+1]...)
		l.handle(l.partial)
		l.partial = l.partial[:0]
		p = p[end+1:]
	}
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			break
		}
		l.handle(p[:end+1])
		p = p[end+1:]
	}
	l.partial = append(l.partial, p...)
}
