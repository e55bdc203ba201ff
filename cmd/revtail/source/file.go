package source

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/offline"
	"revtail/etcdstore"
)

// File is a file that this process serves.
type File struct {
	Gateway client.Config // reaches it
	Info    offline.Info
	Prefix  string // of the resources

	server *offline.Server
	stop   func()
}

// OpenFile serves a file for clients in this process. flag names it in errors.
func OpenFile(ctx context.Context, o offline.Options, flag string, stderr io.Writer) (*File, error) {
	bar := command.NewProgress(stderr)
	o.Progress = bar.Show
	server, err := offline.Open(ctx, o, newLogger(stderr))
	bar.End()
	if err != nil {
		return nil, err
	}
	if damage := server.Info().Damage; damage != nil {
		_, _ = fmt.Fprintf(stderr, "Warning: %s: a part of it is read: %v\n", o.File, damage)
	}
	return serve(ctx, server, flag)
}

func newLogger(stderr io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

// AsOf serves the file as it was at a revision, with the resources of then. The caller closes it before f.
func (f *File) AsOf(ctx context.Context, revision int64, stderr io.Writer) (*File, error) {
	server, err := f.server.AsOf(ctx, etcdstore.Revision(revision), newLogger(stderr))
	if err != nil {
		return nil, err
	}
	return serve(ctx, server, f.Gateway.ServerFlag)
}

// serve serves what it closes if that fails.
func serve(ctx context.Context, server *offline.Server, flag string) (*File, error) {
	dial, stop, err := server.Serve(ctx)
	if err != nil {
		_ = server.Close() // it was only read
		return nil, err
	}
	gateway := client.Config{Servers: []string{offline.Host}, ServerFlag: flag, NoProxy: true, Dial: dial}
	return &File{Gateway: gateway, Info: server.Info(), Prefix: server.Prefix(), server: server, stop: stop}, nil
}

// Close ends the server and closes the file.
func (f *File) Close() {
	f.stop()
	_ = f.server.Close() // it was only read
}
