package source

import (
	"context"
	"io"
	"log/slog"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/offline"
	"revtail/etcdstore/dbfile"
)

// File is a file that this process serves.
type File struct {
	Gateway client.Config // reaches it
	Info    dbfile.Info

	server *offline.Server
	stop   func()
}

// OpenFile serves a file for clients in this process. flag names it in errors.
func OpenFile(ctx context.Context, o offline.Options, flag string, stderr io.Writer) (*File, error) {
	server, err := offline.Open(ctx, o, slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		return nil, err
	}
	dial, stop, err := server.Serve(ctx)
	if err != nil {
		_ = server.Close() // it was only read
		return nil, err
	}
	gateway := client.Config{Servers: []string{offline.Host}, ServerFlag: flag, NoProxy: true, Dial: dial}
	return &File{Gateway: gateway, Info: server.Info(), server: server, stop: stop}, nil
}

// Close ends the server and closes the file.
func (f *File) Close() {
	f.stop()
	_ = f.server.Close() // it was only read
}
