package etcdstore

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
	// freePages is how many pages a scan keeps for its next messages: one is read while another one is used.
	freePages = 2
	// maxFreePage bounds the memory of a page that is kept. etcd aims at messages of 1.5 MiB, the size of its largest request.
	maxFreePage = 8 << 20
)

// scanPage is the memory of a page of a stream, which the page after the next one uses again.
type scanPage struct {
	message []byte // has the values
	kvs     []KV
	keys    []byte
	ends    []int // of each key in keys
}

// scanCodec decodes the messages of a stream, and keeps their values in the memory of the message: as messages of protobuf, a value would be garbage
// after its copy into a block of a cache. One goroutine receives.
type scanCodec struct {
	encoding.CodecV2 // of requests, and of other responses

	free chan *scanPage
	page *scanPage // the keys of the last message; nil: it was not decoded, or its keys are taken
}

func newScanCodec() *scanCodec {
	return &scanCodec{CodecV2: encoding.GetCodecV2(proto.Name), free: make(chan *scanPage, freePages)}
}

// Unmarshal implements encoding.CodecV2. It leaves all fields of a response but the header to page.
func (c *scanCodec) Unmarshal(data mem.BufferSlice, v any) error {
	response, ok := v.(*pb.RangeStreamResponse)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	var p *scanPage
	select {
	case p = <-c.free:
	default:
		p = new(scanPage)
	}
	if n := data.Len(); n > cap(p.message) {
		p.message = make([]byte, n)
	} else {
		p.message = p.message[:n]
	}
	data.CopyTo(p.message)
	c.page, response.RangeResponse = p, new(pb.RangeResponse)
	return p.decode(response.RangeResponse)
}

// take returns the keys of the last message. Those of an etcd in this process, which needs no codec, are in the message.
func (c *scanCodec) take(message *pb.RangeResponse) Page {
	if p := c.page; p != nil {
		c.page = nil
		return Page{KVs: p.kvs, Release: func() { c.release(p) }}
	}
	page := Page{KVs: make([]KV, len(message.Kvs))}
	for i, kv := range message.Kvs {
		page.KVs[i] = toKV(kv)
	}
	return page
}

func (c *scanCodec) release(p *scanPage) {
	if cap(p.message) > maxFreePage {
		return
	}
	clear(p.kvs)
	select {
	case c.free <- p:
	default:
	}
}

var errMalformed = errors.New("etcd sent a malformed message")

// decode finds the keys in the message, and decodes its header. Fields that no scan needs are skipped.
func (p *scanPage) decode(response *pb.RangeResponse) error {
	p.kvs, p.keys, p.ends = p.kvs[:0], p.keys[:0], p.ends[:0]
	err := eachField(p.message, func(number protowire.Number, value []byte, _ uint64) error {
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
	if err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	keys, start := string(p.keys), 0
	for i, end := range p.ends {
		p.kvs[i].Key, start = keys[start:end], end
	}
	return nil
}

// add decodes a message KeyValue. Its key follows with those of the page.
func (p *scanPage) add(message []byte) error {
	var kv KV
	err := eachField(message, func(number protowire.Number, value []byte, n uint64) error {
		switch number {
		case 1:
			p.keys = append(p.keys, value...)
		case 2:
			kv.Created = Revision(n)
		case 3:
			kv.Modified = Revision(n)
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
