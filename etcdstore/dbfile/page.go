package dbfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The format of bbolt, in the byte order of the machine that wrote the file: little-endian on all that etcd supports.
const (
	pageHeader = 16 // id, flags, number of elements, number of further pages
	elementLen = 16 // of a branch and of a leaf

	branchPage = 0x01
	leafPage   = 0x02
	bucketLeaf = 0x01 // the flag of an element whose value is a bucket

	metaMagic   = 0xED0CDAED
	metaVersion = 2
	metaLen     = 64
	bucketLen   = 16 // root, sequence

	minPageSize = 1 << 10
	maxPageSize = 1 << 16
)

// pages reads the pages of a database. Everything in a page that says where something is may be damaged, and is checked before use.
type pages struct {
	file     io.ReaderAt
	size     int64  // bytes that the file has
	pageSize int    // as the database says
	count    uint64 // pages of the database, also where the file is cut off
	root     uint64 // of the buckets
}

// openPages reads the newest valid description of a database.
func openPages(file io.ReaderAt, size int64) (*pages, error) {
	p := &pages{file: file, size: size}
	first, err := p.readMeta(0)
	sizes := []int64{int64(first.pageSize)}
	if err != nil {
		sizes = nil
		for n := int64(minPageSize); n <= maxPageSize; n *= 2 {
			sizes = append(sizes, n)
		}
	}
	newest, found := first, err == nil
	for _, at := range sizes {
		if second, failed := p.readMeta(at); failed == nil && int64(second.pageSize) == at && (!found || second.txn > newest.txn) {
			newest, found = second, true
		}
	}
	if !found {
		return nil, err
	}
	p.pageSize, p.count, p.root = newest.pageSize, newest.count, newest.root
	return p, nil
}

// meta describes a database. There are two, and the newer valid one counts.
type meta struct {
	pageSize    int
	root, count uint64
	txn         uint64
}

var errNoDatabase = errors.New("it is no database of etcd")

func (p *pages) readMeta(at int64) (meta, error) {
	var raw [pageHeader + metaLen]byte
	if _, err := p.file.ReadAt(raw[:], at); errors.Is(err, io.EOF) {
		return meta{}, errNoDatabase
	} else if err != nil {
		return meta{}, err
	}
	body := raw[pageHeader:]
	sum := fnv.New64a()
	_, _ = sum.Write(body[:metaLen-8]) // never fails
	size := binary.LittleEndian.Uint32(body[8:])
	switch {
	case binary.LittleEndian.Uint32(body) != metaMagic:
		return meta{}, errNoDatabase
	case binary.LittleEndian.Uint32(body[4:]) != metaVersion:
		return meta{}, errors.New("its format is of another version of etcd's database")
	case binary.LittleEndian.Uint64(body[metaLen-8:]) != sum.Sum64(), size < minPageSize, size > maxPageSize, size&(size-1) != 0:
		return meta{}, errors.New("its first page is damaged")
	}
	return meta{
		pageSize: int(size), root: binary.LittleEndian.Uint64(body[16:]), count: binary.LittleEndian.Uint64(body[40:]), txn: binary.LittleEndian.Uint64(body[48:]),
	}, nil
}

// cut returns an error if the file ends before the database.
func (p *pages) cut() error {
	if whole := p.count * uint64(p.pageSize); p.count < 1<<48 && whole <= uint64(p.size) { //nolint:gosec // a size
		return nil
	}
	return fmt.Errorf("it is cut off after %d of its %d pages of %d bytes", p.size/int64(p.pageSize), p.count, p.pageSize)
}

// page is the head of a page, in memory: its elements, and as much of its keys and values as fit into pageSize.
type page struct {
	at    int64 // in the file
	kind  uint16
	count int
	limit int64 // bytes of the page with those that are not in data
	data  []byte
}

// read reads the head of a page into buffer, which it may replace.
func (p *pages) read(id uint64, buffer *[]byte) (page, error) {
	if id < 2 || id >= p.count {
		return page{}, fmt.Errorf("there is no page %d", id)
	}
	at := int64(id) * int64(p.pageSize) //nolint:gosec // below count
	if at+int64(p.pageSize) > p.size {
		return page{}, fmt.Errorf("page %d is after the end of the file", id)
	}
	if len(*buffer) < p.pageSize {
		*buffer = make([]byte, p.pageSize)
	}
	if _, err := p.file.ReadAt((*buffer)[:p.pageSize], at); err != nil {
		return page{}, fmt.Errorf("page %d: %w", id, err)
	}
	got := page{at: at, data: (*buffer)[:p.pageSize]}
	if named := binary.LittleEndian.Uint64(got.data); named != id {
		return page{}, fmt.Errorf("page %d is damaged: it has the number %d", id, named)
	}
	further := uint64(binary.LittleEndian.Uint32(got.data[12:]))
	if further >= p.count-id {
		return page{}, fmt.Errorf("page %d is damaged: it has %d further ones", id, further)
	}
	got.limit = int64(further+1) * int64(p.pageSize) //nolint:gosec // below the size of the database
	if err := p.complete(&got, buffer); err != nil {
		return page{}, fmt.Errorf("page %d: %w", id, err)
	}
	return got, nil
}

// complete reads the header of a page, and the elements that the first pageSize bytes do not have.
func (p *pages) complete(got *page, buffer *[]byte) error {
	got.kind = binary.LittleEndian.Uint16(got.data[8:])
	got.count = int(binary.LittleEndian.Uint16(got.data[10:]))
	if got.kind != branchPage && got.kind != leafPage {
		return fmt.Errorf("it is damaged: it has the kind %#x", got.kind)
	}
	need := pageHeader + got.count*elementLen
	if int64(need) > got.limit {
		return fmt.Errorf("it is damaged: it has %d elements", got.count)
	}
	if need <= len(got.data) {
		return nil
	}
	more := make([]byte, need)
	if _, err := p.file.ReadAt(more, got.at); err != nil {
		return err
	}
	*buffer, got.data = more, more
	return nil
}

// element is an entry of a page.
type element struct {
	key   int64  // where the key begins in the page
	size  int64  // of the key
	child uint64 // of a branch
	value int64  // bytes of the value of a leaf, which follows the key
	flags uint32
}

func (g page) element(i int) (element, error) {
	start := pageHeader + i*elementLen
	raw := g.data[start : start+elementLen]
	var e element
	if g.kind == branchPage {
		e = element{key: int64(binary.LittleEndian.Uint32(raw)), size: int64(binary.LittleEndian.Uint32(raw[4:])), child: binary.LittleEndian.Uint64(raw[8:])}
	} else {
		e = element{
			flags: binary.LittleEndian.Uint32(raw), key: int64(binary.LittleEndian.Uint32(raw[4:])),
			size: int64(binary.LittleEndian.Uint32(raw[8:])), value: int64(binary.LittleEndian.Uint32(raw[12:])),
		}
	}
	e.key += int64(start)
	if e.key+e.size+e.value > g.limit {
		return e, errors.New("it is damaged: an element ends after it")
	}
	return e, nil
}

// bytes returns bytes of a page. They are valid until the next page is read into the same buffer.
func (p *pages) bytes(g page, from, length int64) ([]byte, error) {
	if from+length <= int64(len(g.data)) {
		return g.data[from : from+length], nil
	}
	return p.readAt(g.at+from, length)
}

// readAt returns bytes of the file.
func (p *pages) readAt(at, length int64) ([]byte, error) {
	if at+length > p.size {
		return nil, errors.New("a value is after the end of the file")
	}
	out := make([]byte, length)
	_, err := p.file.ReadAt(out, at)
	return out, err
}
