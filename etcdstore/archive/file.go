package archive

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"revtail/etcdstore/journal"
)

// The first bytes of compressed files.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// headSize is how many bytes of a file Recognizes reads: an export says in its first line what it is.
const headSize = 64

// Recognizes reports whether a file is an export of a journal, or one that is compressed, or a directory one of a journal. Everything else is not, also what
// cannot be read.
func Recognizes(path string) bool {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		exists, failed := journal.Exists(path)
		return exists && failed == nil
	case !info.Mode().IsRegular():
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, headSize)
	n, _ := io.ReadFull(f, head) // what is cut off is an error of Open
	head = head[:n]
	return bytes.HasPrefix(head, gzipMagic) || bytes.HasPrefix(head, zstdMagic) || journal.IsExport(head)
}

// Stream is what Decompress reads.
type Stream struct {
	io.Reader
	close func()
}

// Close frees the memory of the stream. The file is the caller's.
func (s *Stream) Close() { s.close() }

// Decompress returns the content of a file, which may be compressed by gzip or zstd. The caller closes it.
func Decompress(from io.Reader) (*Stream, error) {
	const buffer = 1 << 20
	buffered := bufio.NewReaderSize(from, buffer)
	head, _ := buffered.Peek(len(zstdMagic)) // a shorter file is an error of its reader
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		r, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("the file begins as one of gzip: %w", err)
		}
		return &Stream{r, func() { _ = r.Close() }}, nil
	case bytes.HasPrefix(head, zstdMagic):
		r, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("the file begins as one of zstd: %w", err)
		}
		return &Stream{r, r.Close}, nil
	}
	return &Stream{buffered, func() {}}, nil
}

// Compress returns a writer that compresses by the extension of a file name: .gz by gzip, .zst by zstd, any other one not. Its Close leaves w open.
func Compress(w io.Writer, name string) (io.WriteCloser, error) {
	switch {
	case strings.HasSuffix(name, ".gz"):
		return gzip.NewWriter(w), nil
	case strings.HasSuffix(name, ".zst"):
		return zstd.NewWriter(w)
	}
	return plainWriter{w}, nil
}

// plainWriter is a writer whose Close does nothing.
type plainWriter struct{ io.Writer }

// Close implements io.Closer.
func (plainWriter) Close() error { return nil }
