package main

import (
	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

type badgerDatabase struct{ db *badger.DB }

func openBadger(dir string) (database, error) {
	o := badger.DefaultOptions(dir).WithCompression(options.ZSTD).WithBlockSize(32 << 10).WithBlockCacheSize(32 << 20).WithLogger(quiet{})
	db, err := badger.Open(o)
	return badgerDatabase{db}, err
}

func (d badgerDatabase) write(pairs []pair) error {
	return d.db.Update(func(tx *badger.Txn) error {
		for _, p := range pairs {
			if err := tx.Set(p.key, p.value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d badgerDatabase) sync() error { return d.db.Sync() }

func (d badgerDatabase) before(keys [][]byte, use func(int, pair) bool) error {
	return d.db.View(func(tx *badger.Txn) error {
		o := badger.DefaultIteratorOptions
		o.Reverse, o.PrefetchValues = true, false
		it := tx.NewIterator(o)
		defer it.Close()
		for i, key := range keys {
			it.Seek(key)
			if it.Valid() && string(it.Item().Key()) == string(key) { // a reverse search includes the key
				it.Next()
			}
			for more := true; more && it.Valid(); it.Next() {
				err := it.Item().Value(func(value []byte) error {
					more = use(i, pair{it.Item().Key(), value})
					return nil
				})
				if err != nil {
					return err
				}
				if !more {
					break
				}
			}
		}
		return nil
	})
}

func (d badgerDatabase) close() error { return d.db.Close() }
