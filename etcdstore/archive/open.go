package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
	"revtail/etcdstore/readonly"
)

// Options configure Open.
type Options struct {
	Logger *slog.Logger // required
	// Progress shows how much of an export is read, in bytes of the file; nil: it is not shown.
	Progress journal.Progress
}

// Info is what a journal has.
type Info struct {
	Export   bool               // it was imported from a file
	Oldest   etcdstore.Revision // that can be read, of all prefixes
	Newest   etcdstore.Revision
	Began    time.Time // the events from this time on are known; zero: none is
	Ended    time.Time // of the last event; zero: none is known
	Keys     int64     // at the newest revision
	Prefixes []string  // of the keys that are known
	Gaps     int       // parts of the history that are missing
	Lagging  []string  // those of Prefixes whose events are not known through the newest revision
}

// ErrNoRange says that there is nothing to serve.
var ErrNoRange = errors.New("the journal has nothing of a present history")

// Open opens an export of a journal, or the directory of one. An export is imported into a directory below os.TempDir, which Close removes, as an error does. The
// error of an export names its line. What a process that was killed has left of an import is removed, too.
func Open(ctx context.Context, path string, o Options) (s *Store, err error) {
	s = &Store{}
	s.Store = readonly.New(readonly.Source{Refusal: ErrReadOnly, Newest: func() etcdstore.Revision { return s.info.Newest }, Find: s.find})
	if err = s.open(ctx, path, o); err == nil {
		err = s.describe(ctx)
	}
	if err == nil {
		return s, nil
	}
	if !strings.HasPrefix(err.Error(), path+": ") { // those of a journal name it
		err = fmt.Errorf("%s: %w", path, err)
	}
	return nil, errors.Join(err, s.Close())
}

func (s *Store) open(ctx context.Context, path string, o Options) error {
	info, err := os.Stat(path)
	if err != nil {
		return errors.Unwrap(err) // without the name of the file
	}
	dir := path
	if s.info.Export = !info.IsDir(); s.info.Export {
		removeAbandoned()
		if s.temporary, err = os.MkdirTemp("", temporaryPrefix); err != nil {
			return fmt.Errorf("the export is imported into a temporary directory: %w", err)
		}
		dir = filepath.Join(s.temporary, temporaryJournal)
		if err := importFile(ctx, dir, path, info.Size(), o); err != nil {
			return err
		}
	}
	s.journal, err = journal.OpenExisting(dir, o.Logger, journal.ReadOnly)
	if errors.Is(err, journal.ErrInUse) {
		return errors.New("a gateway has the journal open: stop it, ask it for the past, or export a copy of the directory")
	}
	return err
}

const (
	// temporaryPrefix begins the names of the directories of imports, which have temporaryJournal.
	temporaryPrefix, temporaryJournal = "revtail-open-", "journal"
	// abandonedAge is how old the directory of a process that was killed is when another one removes it. A younger one may not be locked yet.
	abandonedAge = time.Minute
)

// removeAbandoned removes the directories of processes that were killed.
func removeAbandoned() {
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), temporaryPrefix+"*")) // the pattern is right
	for _, dir := range found {
		info, err := os.Lstat(dir)
		if err == nil && info.IsDir() && time.Since(info.ModTime()) > abandonedAge && !journal.IsOpen(filepath.Join(dir, temporaryJournal)) {
			_ = os.RemoveAll(dir) // it may belong to another user
		}
	}
}

func importFile(ctx context.Context, dir, path string, size int64, o Options) error {
	f, err := os.Open(path)
	if err != nil {
		return errors.Unwrap(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	counted := &counter{Reader: f}
	lines, err := Decompress(counted)
	if err != nil {
		return err
	}
	defer lines.Close()
	_, err = journal.Import(ctx, dir, lines, o.Logger, func(what string, _, _ int64) {
		if o.Progress != nil {
			o.Progress(what, counted.read, size)
		}
	})
	return err
}

// counter counts what is read.
type counter struct {
	io.Reader

	read int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += int64(n)
	return n, err
}

// describe chooses the ranges that are served: those of the present history, which has the newest event, and the latest one of each key. Earlier ones are
// read at their revisions, but not for keys that no later one has.
func (s *Store) describe(ctx context.Context) error {
	all := slices.DeleteFunc(s.journal.Ranges(), func(r journal.Range) bool { return r.Former || r.Through == 0 })
	if len(all) == 0 {
		return ErrNoRange
	}
	last := slices.MaxFunc(all, func(a, b journal.Range) int { return cmp.Compare(a.Through, b.Through) })
	s.history, s.ranges = last.History, disjoint(slices.DeleteFunc(all, func(r journal.Range) bool { return r.History != last.History }))
	slices.SortFunc(s.ranges, func(a, b journal.Range) int { return cmp.Compare(a.Prefix, b.Prefix) })
	s.info.Oldest, s.info.Newest = last.Oldest, last.Through
	for _, r := range s.ranges {
		if !r.Indexed {
			return fmt.Errorf("the journal of %q was written by an earlier version: 'revtail history export' it, and open the export", r.Prefix)
		}
		if err := s.add(r); err != nil {
			return err
		}
	}
	for _, r := range s.ranges {
		page, err := s.list(ctx, part{r, r.Prefix}, s.info.Newest, etcdstore.ListOptions{Limit: 1, KeysOnly: true})
		if err != nil {
			return err
		}
		s.info.Keys += int64(len(page.KVs)) + page.Remaining
	}
	return nil
}

// disjoint returns the ranges without those that have keys of a later one, by prefix.
func disjoint(all []journal.Range) (out []journal.Range) {
	slices.SortFunc(all, func(a, b journal.Range) int {
		return cmp.Or(cmp.Compare(b.Through, a.Through), cmp.Compare(a.Prefix, b.Prefix))
	})
	for _, r := range all {
		if !slices.ContainsFunc(out, func(later journal.Range) bool {
			return strings.HasPrefix(r.Prefix, later.Prefix) || strings.HasPrefix(later.Prefix, r.Prefix)
		}) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b journal.Range) int { return cmp.Compare(a.Prefix, b.Prefix) })
	return out
}

// add adds a range to what the journal has.
func (s *Store) add(r journal.Range) error {
	i := &s.info
	began, err := s.journal.Began(r)
	if err != nil {
		return err
	}
	ended, err := s.journal.Newest(r)
	if err != nil {
		return err
	}
	if i.Began.IsZero() || began.Before(i.Began) {
		i.Began = began
	}
	if ended.After(i.Ended) {
		i.Ended = ended
	}
	i.Oldest, i.Gaps, i.Prefixes = min(i.Oldest, r.Oldest), i.Gaps+len(r.Gaps), append(i.Prefixes, r.Prefix)
	if r.Through < i.Newest {
		i.Lagging = append(i.Lagging, r.Prefix)
	}
	return nil
}
