package main

import (
	"github.com/cockroachdb/pebble/v2"
)

type pebbleDatabase struct{ db *pebble.DB }

// openPebble opens a database with the options of the journal.
func openPebble(dir string) (database, error) {
	o := &pebble.Options{FormatMajorVersion: pebble.FormatNewest, CacheSize: 32 << 20, Logger: quiet{}}
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionFastest })
	for i := range o.Levels {
		o.Levels[i].BlockSize = 32 << 10
	}
	db, err := pebble.Open(dir, o)
	return pebbleDatabase{db}, err
}

func (d pebbleDatabase) write(pairs []pair) error {
	b := d.db.NewBatch()
	for _, p := range pairs {
		if err := b.Set(p.key, p.value, nil); err != nil {
			return err
		}
	}
	return b.Commit(pebble.NoSync)
}

func (d pebbleDatabase) sync() error { return d.db.LogData(nil, pebble.Sync) }

func (d pebbleDatabase) before(keys [][]byte, use func(int, pair) bool) error {
	it, err := d.db.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }()
	for i, key := range keys {
		for ok := it.SeekLT(key); ok && use(i, pair{it.Key(), it.Value()}); {
			ok = it.Prev()
		}
	}
	return it.Error()
}

func (d pebbleDatabase) close() error { return d.db.Close() }

// quiet is a log without lines.
type quiet struct{}

func (quiet) Infof(string, ...any)         {}
func (quiet) Errorf(string, ...any)        {}
func (quiet) Fatalf(f string, args ...any) { panic(f) }
func (quiet) Warningf(string, ...any)      {}
func (quiet) Debugf(string, ...any)        {}
