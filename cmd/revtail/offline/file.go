package offline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/archive"
	"revtail/etcdstore/dbfile"
	"revtail/gateway/api/changes"
)

// file is the store of a file.
type file interface {
	etcdstore.Store
	Close() error
}

// Info is what a file contains.
type Info struct {
	File   string // the database itself, where the file is a data directory
	Kind   string // of the file, for people, as snapshot
	Oldest etcdstore.Revision
	Newest etcdstore.Revision
	Keys   int64                // at the newest revision
	Saved  time.Time            // when the file of an etcd was last written
	Damage *dbfile.DamagedError // of a file that was opened in part; nil: it is whole

	// Of a journal:
	Journal      bool      // the file is one, and has the times of its revisions
	Began, Ended time.Time // of the events; zero: none is known
	Prefixes     []string  // of the keys that are recorded
	Lagging      []string  // those of them that are not recorded through the newest revision
}

// HasTimes reports whether a file has the times of its revisions: it is a journal.
func HasTimes(path string) bool { return archive.Recognizes(path) }

// openFile opens a file of either kind.
func (s *Server) openFile(ctx context.Context, logger *slog.Logger) error {
	if archive.Recognizes(s.options.File) {
		return s.openJournal(ctx, logger)
	}
	opened, err := dbfile.Open(ctx, s.options.File, dbfile.Options{Partial: s.options.Partial, NoChecksum: s.options.SkipHashCheck})
	if err != nil {
		return explain(err)
	}
	i := opened.Info()
	s.file, s.info = opened, Info{File: i.File, Kind: "database", Oldest: i.Oldest, Newest: i.Newest, Keys: int64(i.Keys), Saved: i.Written, Damage: i.Damage}
	if i.Checksum {
		s.info.Kind = "snapshot"
	}
	return nil
}

// explain adds the flag with which a damaged file can be opened.
func explain(err error) error {
	if damaged := (*dbfile.DamagedError)(nil); errors.As(err, &damaged) && damaged.Through > 0 {
		return fmt.Errorf("%w (--partial opens these)", err)
	}
	return err
}

func (s *Server) openJournal(ctx context.Context, logger *slog.Logger) error {
	if s.options.Partial {
		return fmt.Errorf("%s: --partial opens a damaged file of an etcd, and this is a journal", s.options.File)
	}
	opened, err := archive.Open(ctx, s.options.File, archive.Options{Logger: logger, Progress: s.options.Progress})
	if err != nil {
		return err
	}
	i := opened.Info()
	s.file, s.info = opened, Info{
		File: s.options.File, Kind: "journal", Oldest: i.Oldest, Newest: i.Newest, Keys: i.Keys,
		Journal: true, Began: i.Began, Ended: i.Ended, Prefixes: i.Prefixes, Lagging: i.Lagging,
	}
	if i.Export {
		s.info.Kind = "export of a journal"
	}
	return nil
}

// history returns what the file has recorded; nil: nothing.
func (s *Server) history() *changes.Source {
	recorder, ok := s.file.(changes.Recorder)
	if !ok {
		return nil
	}
	return &changes.Source{Store: s.store, Recorder: recorder}
}
