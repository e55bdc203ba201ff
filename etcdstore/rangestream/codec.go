// Package rangestream decodes the stream of a range of etcd without a copy of each value, into memory that is used again.
package rangestream

import (
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	protobuf "google.golang.org/protobuf/proto"
)

const (
	// freePages is how many pages a codec keeps for its next messages: one is read while another one is used.
	freePages = 2
	// maxFreePage bounds the memory of a page that is kept. etcd aims at messages of 1.5 MiB, the size of its largest request.
	maxFreePage = 8 << 20
)

// KeyValue is a key with its value, in the memory of a page.
type KeyValue struct {
	Key                               string
	Value                             []byte
	Created, Modified, Version, Lease int64
}

// Codec is the codec of one stream. The values of a message stay in its memory: as messages of protobuf, each would have memory of its own, which is
// garbage if the value is copied. K is what the caller makes of a key. One goroutine receives and takes; pages are released by any.
type Codec[K any] struct {
	encoding.CodecV2 // of requests, and of other responses

	convert func(KeyValue) K
	free    chan *page[K]
	last    *page[K] // the keys of the last message; nil: it was not decoded, or its keys are taken
}

// page is the memory of the keys of a message.
type page[K any] struct {
	message   []byte // has the values
	keys      []byte
	ends      []int // of each key in keys
	kvs       []KeyValue
	converted []K
}

// New returns a codec, for grpc.ForceCodecV2.
func New[K any](convert func(KeyValue) K) *Codec[K] {
	return &Codec[K]{CodecV2: encoding.GetCodecV2(proto.Name), convert: convert, free: make(chan *page[K], freePages)}
}

// Unmarshal implements encoding.CodecV2. Of a RangeStreamResponse it decodes the header, and the keys for Take; the rest is left out.
func (c *Codec[K]) Unmarshal(data mem.BufferSlice, v any) error {
	response, ok := v.(*pb.RangeStreamResponse)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	var p *page[K]
	select {
	case p = <-c.free:
	default:
		p = new(page[K])
	}
	if n := data.Len(); n > cap(p.message) {
		p.message = make([]byte, n)
	} else {
		p.message = p.message[:n]
	}
	data.CopyTo(p.message)
	response.RangeResponse = new(pb.RangeResponse)
	if err := p.decode(response.RangeResponse); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	keys, start := string(p.keys), 0
	for i, end := range p.ends {
		p.kvs[i].Key, start = keys[start:end], end
		p.converted = append(p.converted, c.convert(p.kvs[i]))
	}
	c.last = p
	return nil
}

// Take returns the keys of the last message. release, which may be called once, gives the memory of their values and of the slice to a later message;
// strings stay. ok is false if no message was decoded: an etcd in this process needs no codec.
func (c *Codec[K]) Take() (keys []K, release func(), ok bool) {
	p := c.last
	if p == nil {
		return nil, nil, false
	}
	c.last = nil
	return p.converted, func() { c.release(p) }, true
}

func (c *Codec[K]) release(p *page[K]) {
	if cap(p.message) > maxFreePage {
		return
	}
	clear(p.converted)
	select {
	case c.free <- p:
	default:
	}
}

var errMalformed = errors.New("etcd sent a malformed message")

// decode finds the keys in the message, and decodes its header. Other fields are skipped.
func (p *page[K]) decode(response *pb.RangeResponse) error {
	p.keys, p.ends, p.kvs, p.converted = p.keys[:0], p.ends[:0], p.kvs[:0], p.converted[:0]
	return eachField(p.message, func(number protowire.Number, value []byte, _ uint64) error {
		if number != 1 { // RangeStreamResponse.range_response
			return nil
		}
		return eachField(value, func(number protowire.Number, value []byte, _ uint64) error {
			switch number {
			case 1: // RangeResponse.header
				response.Header = new(pb.ResponseHeader)
				return protobuf.Unmarshal(value, response.Header)
			case 2: // RangeResponse.kvs
				return p.add(value)
			}
			return nil
		})
	})
}

// add decodes a message KeyValue. Its key follows with those of the page, in one string.
func (p *page[K]) add(message []byte) error {
	var kv KeyValue
	err := eachField(message, func(number protowire.Number, value []byte, n uint64) error {
		switch number {
		case 1:
			p.keys = append(p.keys, value...)
		case 2:
			kv.Created = int64(n)
		case 3:
			kv.Modified = int64(n)
		case 4:
			kv.Version = int64(n)
		case 5:
			kv.Value = value[:len(value):len(value)]
		case 6:
			kv.Lease = int64(n)
		}
		return nil
	})
	p.kvs, p.ends = append(p.kvs, kv), append(p.ends, len(p.keys))
	return err
}

// eachField calls visit for each field of a message, with its value if it is bytes, or its number if it is a varint.
func eachField(message []byte, visit func(number protowire.Number, value []byte, n uint64) error) error {
	for len(message) > 0 {
		number, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return protowire.ParseError(size)
		}
		message = message[size:]
		var value []byte
		var n uint64
		switch kind {
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			value, size = protowire.ConsumeBytes(message)
		default:
			size = protowire.ConsumeFieldValue(number, kind, message)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		message = message[size:]
		if err := visit(number, value, n); err != nil {
			return err
		}
	}
	return nil
}
