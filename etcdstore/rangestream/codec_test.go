package rangestream

import (
	"bytes"
	"fmt"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// receive decodes a message that comes in buffers of some bytes.
func receive(c *Codec[KeyValue], message []byte, each int) (*pb.RangeStreamResponse, taken, error) {
	var data mem.BufferSlice
	for each > 0 && len(message) > each {
		data, message = append(data, mem.SliceBuffer(bytes.Clone(message[:each]))), message[each:]
	}
	response := new(pb.RangeStreamResponse)
	err := c.Unmarshal(append(data, mem.SliceBuffer(bytes.Clone(message))), response)
	if err != nil {
		return nil, taken{}, err
	}
	for _, buffer := range data {
		clear(buffer.ReadOnlyData()) // gRPC uses it again
	}
	kvs, release, _ := c.Take()
	return response, taken{kvs, release}, nil
}

func same(kv KeyValue) KeyValue { return kv }

// taken is what Take returns.
type taken struct {
	KVs     []KeyValue
	Release func()
}

// Pages have what protobuf decodes, whatever pages were released before and whatever fields are unknown.
func TestCodec(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c, number := New(same), rapid.OneOf(rapid.Int64Range(0, 300), rapid.Int64())
		for range rapid.IntRange(1, 5).Draw(r, "messages") {
			sent := &pb.RangeResponse{}
			if rapid.Bool().Draw(r, "last") {
				sent.Header, sent.More, sent.Count = &pb.ResponseHeader{ClusterId: 5, Revision: number.Draw(r, "revision")}, true, 7
			}
			for i := range rapid.IntRange(0, 5).Draw(r, "keys") {
				sent.Kvs = append(sent.Kvs, &mvccpb.KeyValue{
					Key: fmt.Appendf(nil, "/a/%d", i), Value: rapid.SliceOfN(rapid.Byte(), -1, 40).Draw(r, "value"), Version: number.Draw(r, "version"),
					CreateRevision: number.Draw(r, "created"), ModRevision: number.Draw(r, "modified"), Lease: number.Draw(r, "lease"),
				})
			}
			message, err := proto.Marshal(&pb.RangeStreamResponse{RangeResponse: sent})
			if err != nil {
				r.Fatal(err)
			}
			if rapid.Bool().Draw(r, "unknown fields") {
				message = protowire.AppendFixed64(protowire.AppendTag(message, 1000, protowire.Fixed64Type), 1)
				message = protowire.AppendString(protowire.AppendTag(message, 1001, protowire.BytesType), "unknown")
			}
			response, page, err := receive(c, message, rapid.IntRange(0, 20).Draw(r, "buffer"))
			if err != nil {
				r.Fatal(err)
			}
			if !proto.Equal(response.RangeResponse.GetHeader(), sent.Header) || len(page.KVs) != len(sent.Kvs) {
				r.Fatalf("%v with %d keys, want %v", response, len(page.KVs), sent)
			}
			for i, kv := range page.KVs {
				want := sent.Kvs[i]
				got := &mvccpb.KeyValue{Key: []byte(kv.Key), Value: kv.Value, CreateRevision: kv.Created, ModRevision: kv.Modified, Version: kv.Version, Lease: kv.Lease}
				if !proto.Equal(got, want) {
					r.Fatalf("%v, want %v", got, want)
				}
			}
			if rapid.Bool().Draw(r, "release") {
				page.Release()
			}
		}
	})
}

// A page that is not released keeps its values, and a released one gives its memory to a later page.
func TestRelease(t *testing.T) {
	message := func(value string) []byte {
		out, err := proto.Marshal(&pb.RangeStreamResponse{RangeResponse: &pb.RangeResponse{Kvs: []*mvccpb.KeyValue{{Key: []byte("/a/" + value), Value: []byte(value)}}}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	c := New(same)
	_, kept, err := receive(c, message("kept"), 0)
	if err != nil {
		t.Fatal(err)
	}
	_, released, err := receive(c, message("gone"), 0)
	if err != nil {
		t.Fatal(err)
	}
	key, value := released.KVs[0].Key, released.KVs[0].Value
	released.Release()
	_, next, err := receive(c, message("next"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept.KVs[0].Value) != "kept" || string(next.KVs[0].Value) != "next" || key != "/a/gone" {
		t.Errorf("the page that was kept has %q, the next one %q, and the released key is %q", kept.KVs[0].Value, next.KVs[0].Value, key)
	}
	if string(value) != "next" {
		t.Errorf("the memory of a released page has %q: it is not used again", value)
	}
}

// A message that is cut off anywhere is an error, and no panic; so are bytes that are no message.
func FuzzCodec(f *testing.F) {
	whole, err := proto.Marshal(&pb.RangeStreamResponse{RangeResponse: &pb.RangeResponse{
		Header: &pb.ResponseHeader{Revision: 300}, Kvs: []*mvccpb.KeyValue{{Key: []byte("/a/b"), Value: []byte("v"), ModRevision: 200, Lease: -1}},
	}})
	if err != nil {
		f.Fatal(err)
	}
	for n := range whole {
		f.Add(whole[:n])
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		_, page, err := receive(New(same), message, 7)
		want := new(pb.RangeStreamResponse)
		if invalid := proto.Unmarshal(message, want); invalid == nil && err != nil {
			t.Errorf("%x: %v, but protobuf decodes it", message, err)
		} else if err == nil && invalid == nil && len(page.KVs) != len(want.RangeResponse.GetKvs()) {
			t.Errorf("%x: %d keys, want %d", message, len(page.KVs), len(want.RangeResponse.GetKvs()))
		}
	})
}
