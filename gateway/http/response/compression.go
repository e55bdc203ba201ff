package response

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"revtail/gateway/http/request"
)

// maxCompressed is how many streams are compressed at once; those that come later are sent as they are. A compressor holds
// 0.8 MiB (gzip) or 0.5 MiB (zstd) from the first event to the end of the stream, where an idle watch costs 5 KB, and
// adds 14 µs to the 3 µs that the writing of an event of 1 KiB takes (BenchmarkStream). Every Go program asks for gzip without
// being told to: few watches get a sixth of the bytes, thousands of them cost what they would cost without.
const maxCompressed = 64

// Coding is a content coding.
type Coding struct {
	Name string // in HTTP
	Pool sync.Pool
}

// Compressor makes one gzip member, or one zstd frame; Flush makes all that was written before readable.
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

func NewCompressors() *Compressors {
	c := new(Compressors)
	c.gzip = Coding{Name: "gzip", Pool: sync.Pool{New: func() any {
		w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		if err != nil {
			panic(err) // the level is a constant
		}
		return w
	}}}
	c.zstd = Coding{Name: "zstd", Pool: sync.Pool{New: func() any {
		// One goroutine does the work: the stream's. 32 KiB is the window that gzip has too.
		w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(32<<10), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
		if err != nil {
			panic(err) // the options are constants
		}
		return w
	}}}
	return c
}

// Choose takes the coding that a client likes best, gzip where it likes both. nil: none, because the client wants none, or
// because there are too many already. The caller calls uncount, unless it is nil, when the stream has ended.
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

// preferred reads an Accept-Encoding header (RFC 9110, section 12.5.3). A coding has to be named: "*" is not taken for one.
func (c *Compressors) preferred(header string) *Coding {
	quality := map[string]float64{}
	for part := range strings.SplitSeq(header, ",") {
		name, parameter, _ := strings.Cut(part, ";")
		q := 1.0
		if value, ok := strings.CutPrefix(strings.TrimSpace(parameter), "q="); ok {
			q, _ = strconv.ParseFloat(value, 64) // what is no number is zero
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
