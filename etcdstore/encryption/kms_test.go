package encryption_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/gatewaytest"
)

// TestKMS checks a plugin that has the keys: its values, many of which cost one request, a new key, and that values are stale then.
func TestKMS(t *testing.T) {
	plugin := gatewaytest.StartKMS(t)
	config := configuration(plugin.Provider("vault"))
	f := newFixture(t, memory.New(), config)
	for _, key := range []string{"/registry/secrets/default/a", "/registry/secrets/default/b"} {
		f.put(key, "CANARY")
		if kv := get(t, f.raw, key); !bytes.HasPrefix(kv.Value, []byte("k8s:enc:kms:v2:vault:")) || bytes.Contains(kv.Value, []byte("CANARY")) {
			t.Errorf("stored as %q", kv.Value)
		}
	}
	f.use(config) // as after a restart
	before := plugin.Decrypts()
	page, err := f.List(t.Context(), "/registry/", etcdstore.ListOptions{})
	if err != nil || len(page.KVs) != 2 || string(page.KVs[1].Value) != "CANARY" || page.KVs[1].Stale {
		t.Errorf("%+v, %v", page, err)
	}
	if n := plugin.Decrypts() - before; n != 1 {
		t.Errorf("%d requests to the plugin, want 1", n)
	}
	plugin.Rotate("2")
	f.use(config) // which asks the plugin for its key
	if kv := get(t, f, "/registry/secrets/default/a"); string(kv.Value) != "CANARY" || !kv.Stale {
		t.Errorf("after a rotation: %+v", kv)
	}
}

// TestKMSAway checks that requests fail while the plugin does not answer, that a watch ends with the same error for ever, and that nothing
// is lost: a value that could not be asked for is not unreadable.
func TestKMSAway(t *testing.T) {
	const key = "/registry/secrets/default/a"
	plugin := gatewaytest.StartKMS(t)
	config := configuration(plugin.Provider("vault"))
	f := newFixture(t, memory.New(), config)
	revision := f.put(key, "one")
	if err := f.providers.Load().Check(t.Context()); err != nil {
		t.Errorf("a healthy plugin: %v", err)
	}
	plugin.Stop()
	f.use(config)
	if err := f.providers.Load().Check(t.Context()); err == nil {
		t.Error("a plugin that does not answer is healthy")
	}
	wantAway := func(what string, err error) {
		t.Helper()
		if away, ok := errors.AsType[*etcdstore.EncryptionError](err); !ok || away.Key != key || !errors.Is(err, etcdstore.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, _, err := f.Get(t.Context(), key)
	wantAway("get", err)
	_, err = f.List(t.Context(), "/registry/", etcdstore.ListOptions{})
	wantAway("list", err)
	_, err = f.Update(t.Context(), key, []byte("two"), revision)
	wantAway("update", err)
	if page, err := f.List(t.Context(), "/registry/", etcdstore.ListOptions{KeysOnly: true}); err != nil || len(page.KVs) != 1 {
		t.Errorf("keys alone: %+v, %v", page, err)
	}
	watcher := f.Watch(t.Context(), "/registry/", etcdstore.WatchOptions{After: 1})
	defer watcher.Close()
	for range 2 {
		bounded, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err = watcher.Next(bounded)
		cancel()
		wantAway("watch", err)
	}

	patient := f.Watch(t.Context(), "/registry/", etcdstore.WatchOptions{After: 1})
	defer patient.Close()
	hurried, cancel := context.WithCancel(t.Context())
	f.before = cancel
	if _, err := patient.Next(hurried); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that ended: %v", err)
	}
	f.before = nil
	plugin.Start(t)
	var batch etcdstore.Batch
	gatewaytest.Until(t, "the plugin answers again", func() bool {
		_, _, err = f.Get(t.Context(), key)
		return err == nil
	})
	if batch, err = patient.Next(t.Context()); err != nil || len(batch.Events) != 1 || string(batch.Events[0].KV.Value) != "one" {
		t.Errorf("the events after it: %+v, %v", batch, err)
	}
}
