package main

import (
	"context"
	"flag"
	"io"
	"net/http"
	"os"
	"strconv"
)

// runPrepared runs a server that answers every request with the same bytes, from memory: the cost of a list without any work.
func runPrepared(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("prepared", flag.ContinueOnError)
	file := flags.String("body", "", "the `file` with the bytes")
	pair := addPairFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	body, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // the client reports an error
	})
	return servePeer(ctx, handler, pair, "", stdout)
}
