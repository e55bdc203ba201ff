package etcdstore_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"revtail/etcdstore"
)

// TestLogin runs with etcd's own authentication.
func TestLogin(t *testing.T) {
	t.Parallel()
	server := startConfigured(t, "bcrypt-cost: 4") // because hashing dominates a login, and is ten times slower with -race
	admin := foreignClient(t, clientv3.Config{Endpoints: server.Endpoints()})
	enableAuth(t, admin)
	login := func(user, password string) *etcdstore.Etcd {
		e, err := etcdstore.Open(etcdstore.Config{Endpoints: server.Endpoints(), Username: user, Password: func() string { return password }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	t.Run("right password", func(t *testing.T) {
		e := login("root", "secret")
		if err := e.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		rev, err := e.Create(t.Context(), "/a", nil)
		if err != nil {
			t.Fatal(err)
		}
		w := e.Watch(t.Context(), "/", etcdstore.WatchOptions{After: rev - 1})
		defer w.Close()
		if batch, err := w.Next(t.Context()); err != nil || batch.Through != rev {
			t.Errorf("%+v, %v", batch, err)
		}
	})
	t.Run("wrong password", func(t *testing.T) {
		e := login("root", "guess")
		w := e.Watch(t.Context(), "/", etcdstore.WatchOptions{After: 1})
		defer w.Close()
		_, created := e.Create(t.Context(), "/b", nil)
		_, watched := w.Next(t.Context())
		for what, err := range map[string]error{"Await": e.Await(t.Context()), "Create": created, "Watch": watched} {
			if !errors.Is(err, etcdstore.ErrDenied) {
				t.Errorf("%s: %v, want ErrDenied", what, err)
			}
		}
	})
	t.Run("no permission", func(t *testing.T) {
		e := login("guest", "secret")
		w := e.Watch(t.Context(), "/", etcdstore.WatchOptions{After: 1})
		defer w.Close()
		_, created := e.Create(t.Context(), "/b", nil)
		_, watched := w.Next(t.Context())
		for what, err := range map[string]error{"Create": created, "Watch": watched} {
			if !errors.Is(err, etcdstore.ErrDenied) {
				t.Errorf("%s: %v, want ErrDenied", what, err)
			}
		}
	})
	t.Run("compaction without the role root", func(t *testing.T) {
		root := foreignClient(t, clientv3.Config{Endpoints: server.Endpoints(), Username: "root", Password: "secret"})
		allowCompactor(t, root)
		e := login("compactor", "secret")
		var log bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = e.Compact(ctx, 200*time.Millisecond, func(context.Context) error { return nil }, slog.New(slog.NewTextHandler(&log, nil)))
		}()
		for _, failed := e.Compactions(); failed == 0 && ctx.Err() == nil; _, failed = e.Compactions() {
			_, _, _ = e.Get(ctx, etcdstore.BookkeepingKey)
		}
		cancel()
		<-ended
		if !strings.Contains(log.String(), "a compaction needs a user with the role root") {
			t.Errorf("the log is %q", log.String())
		}
	})
	t.Run("changed password", func(t *testing.T) {
		root := foreignClient(t, clientv3.Config{Endpoints: server.Endpoints(), Username: "root", Password: "secret"})
		if _, err := root.UserAdd(t.Context(), "other", "first"); err != nil {
			t.Fatal(err)
		}
		if _, err := root.UserGrantRole(t.Context(), "other", "root"); err != nil {
			t.Fatal(err)
		}
		var password atomic.Value
		password.Store("first")
		e, err := etcdstore.Open(etcdstore.Config{Endpoints: server.Endpoints(), Username: "other", Password: func() string { return password.Load().(string) }})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if err := e.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := root.UserChangePassword(t.Context(), "other", "second"); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Revision(t.Context()); !errors.Is(err, etcdstore.ErrDenied) {
			t.Errorf("with the old password: %v, want ErrDenied", err)
		}
		password.Store("second")
		if _, err := e.Revision(t.Context()); err != nil {
			t.Errorf("with the new password: %v", err)
		}
	})
	t.Run("unknown user", func(t *testing.T) {
		if err := open(t, server.Endpoints()...).Await(t.Context()); !errors.Is(err, etcdstore.ErrDenied) {
			t.Errorf("Await: %v, want ErrDenied", err)
		}
	})
}

// allowCompactor makes the user compactor, who may write the marks of the compactor.
func allowCompactor(t *testing.T, root *clientv3.Client) {
	t.Helper()
	ctx, end := t.Context(), clientv3.GetPrefixRangeEnd("revtail/")
	for _, step := range []func() error{
		func() error { _, err := root.RoleAdd(ctx, "compactor"); return err },
		func() error {
			_, err := root.RoleGrantPermission(ctx, "compactor", "revtail/", end, clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func() error { _, err := root.UserAdd(ctx, "compactor", "secret"); return err },
		func() error { _, err := root.UserGrantRole(ctx, "compactor", "compactor"); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

// enableAuth makes root, who may do everything, and guest, who may do nothing, and enables authentication.
func enableAuth(t *testing.T, admin *clientv3.Client) {
	t.Helper()
	ctx := t.Context()
	for _, step := range []func() error{
		func() error { _, err := admin.UserAdd(ctx, "root", "secret"); return err },
		func() error { _, err := admin.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := admin.UserAdd(ctx, "guest", "secret"); return err },
		func() error { _, err := admin.AuthEnable(ctx); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}
