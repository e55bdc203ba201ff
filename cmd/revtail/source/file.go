package source

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/offline"
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
	server, err := offline.Open(ctx, o, slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	bar.End()
	if err != nil {
		return nil, err
	}
	dial, stop, err := server.Serve(ctx)
	if err != nil {
		_ = server.Close() // it was only read
		return nil, err
	}
	if damage := server.Info().Damage; damage != nil {
		_, _ = fmt.Fprintf(stderr, "Warning: %s: a part of it is read: %v\n", o.File, damage)
	}
	gateway := client.Config{Servers: []string{offline.Host}, ServerFlag: flag, NoProxy: true, Dial: dial}
	return &File{Gateway: gateway, Info: server.Info(), Prefix: server.Prefix(), server: server, stop: stop}, nil
}

// Close ends the server and closes the file.
func (f *File) Close() {
	f.stop()
	_ = f.server.Close() // it was only read
}
