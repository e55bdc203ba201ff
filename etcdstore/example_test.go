package etcdstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"revtail/etcdstore"
	"revtail/etcdstore/embedded"
)

// A list and a watch from its revision lose nothing between them.
func ExampleStore() {
	ctx := context.Background()
	store, done := openExample(ctx)
	defer done()
	if _, err := store.Create(ctx, "/fruit/apple", []byte("red")); err != nil {
		panic(err)
	}
	page, err := store.List(ctx, "/fruit/", etcdstore.ListOptions{})
	if err != nil {
		panic(err)
	}
	for _, kv := range page.KVs {
		fmt.Printf("%s is %s\n", kv.Key, kv.Value)
	}
	watcher := store.Watch(ctx, "/fruit/", etcdstore.WatchOptions{After: page.Revision, Previous: true})
	defer func() { _ = watcher.Close() }()
	if _, err := store.Update(ctx, "/fruit/apple", []byte("green"), page.KVs[0].Modified); err != nil {
		panic(err)
	}
	for seen := 0; seen < 1; {
		batch, err := watcher.Next(ctx)
		if err != nil {
			panic(err)
		}
		for _, event := range batch.Events {
			fmt.Printf("%s was %s, is %s\n", event.Key, event.Prev.Value, event.KV.Value)
		}
		seen += len(batch.Events)
	}
	// Output:
	// /fruit/apple is red
	// /fruit/apple was red, is green
}

// openExample opens an etcd in this process. Open alone connects to any other etcd.
func openExample(ctx context.Context) (store *etcdstore.Etcd, done func()) {
	dir, err := os.MkdirTemp("", "revtail")
	if err != nil {
		panic(err)
	}
	etcd, err := embedded.Start(ctx, embedded.Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	store, err = etcdstore.Open(etcdstore.Config{Endpoints: etcd.Endpoints()})
	if err != nil {
		panic(err)
	}
	return store, func() {
		_ = store.Close()
		_ = etcd.Close()
		_ = os.RemoveAll(dir)
	}
}
