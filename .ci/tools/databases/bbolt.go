package main

import (
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

var bucket = []byte("journal")

type boltDatabase struct{ db *bolt.DB }

func openBolt(dir string) (database, error) {
	db, err := bolt.Open(filepath.Join(dir, "db"), 0o600, &bolt.Options{NoSync: true, FreelistType: bolt.FreelistMapType, NoFreelistSync: true})
	if err != nil {
		return nil, err
	}
	return boltDatabase{db}, db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
}

func (d boltDatabase) write(pairs []pair) error {
	return d.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucket)
		for _, p := range pairs {
			if err := b.Put(p.key, p.value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d boltDatabase) sync() error { return d.db.Sync() }

func (d boltDatabase) before(keys [][]byte, use func(int, pair) bool) error {
	return d.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucket).Cursor()
		for i, key := range keys {
			c.Seek(key)
			for k, v := c.Prev(); k != nil && use(i, pair{k, v}); {
				k, v = c.Prev()
			}
		}
		return nil
	})
}

func (d boltDatabase) close() error { return d.db.Close() }
