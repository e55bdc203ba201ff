package response

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"revtail/gateway/http/request"
)

// maxCompressed is how many streams are compressed at the same time. Further streams are not compressed, because a compressor holds
// 0.8 MiB (gzip) or 0.5 MiB (zstd) until the stream ends, where an idle watch costs 5 KB, and adds 14 µs to the 3 µs for an event of 1 KiB
// (BenchmarkStream). Every Go program requests gzip by default.
const maxCompressed = 64

// Coding is a content coding.
type Coding struct {
	Name string // in HTTP
	Pool sync.Pool
}

// Compressor writes one gzip member or one zstd frame. After Flush, the client can decompress everything that was written.
type Compressor interface {
	io.WriteCloser
	Flush() error
	Reset(w io.Writer)
}

// Compressors are the compressors of all streams.
type Compressors struct {
	gzip, zstd Coding
	busy       atomic.Int32
}

// NewCompressors returns compressors without memory for a stream yet.
func NewCompressors() *Compressors {
	c := new(Compressors)
	c.gzip = Coding{Name: "gzip", Pool: sync.Pool{New: func() any { return must(gzip.NewWriterLevel(nil, gzip.BestSpeed)) }}}
	c.zstd = Coding{Name: "zstd", Pool: sync.Pool{New: func() any {
		// The goroutine of the stream compresses. gzip has a window of 32 KiB too.
		return must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(32<<10), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true)))
	}}}
	return c
}

// must returns w. There is no error, because the options are constants.
func must(w Compressor, err error) Compressor {
	if err != nil {
		panic(err)
	}
	return w
}

// Choose returns the coding that a client prefers, and gzip if it has no preference. nil: the client accepts none, or maxCompressed is
// reached. The caller calls uncount, unless it is nil, when the stream has ended.
func (c *Compressors) Choose(r *http.Request) (chosen *Coding, uncount func()) {
	chosen = c.preferred(strings.Join(r.Header.Values("Accept-Encoding"), ","))
	if chosen == nil || request.IsHead(r) {
		return nil, nil
	}
	uncount = func() { c.busy.Add(-1) }
	if c.busy.Add(1) > maxCompressed {
		uncount()
		return nil, nil
	}
	return chosen, uncount
}

// preferred returns the best coding of an Accept-Encoding header (RFC 9110, section 12.5.3). It ignores "*".
func (c *Compressors) preferred(header string) *Coding {
	quality := map[string]float64{}
	for part := range strings.SplitSeq(header, ",") {
		name, parameter, _ := strings.Cut(part, ";")
		q := 1.0
		if value, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(parameter)), "q="); ok {
			q, _ = parseWeight(value) // zero if it is no number
		}
		quality[strings.ToLower(strings.TrimSpace(name))] = q
	}
	best, identity := &c.gzip, quality["identity"]
	if quality[c.zstd.Name] > quality[c.gzip.Name] {
		best = &c.zstd
	}
	if q := quality[best.Name]; q == 0 || q < identity {
		return nil
	}
	return best
}
