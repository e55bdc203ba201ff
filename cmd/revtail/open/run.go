package open

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/offline"
	"revtail/cmd/revtail/serve/webserver"
	"revtail/gateway/claim"
)

// drainGrace bounds the end of open requests.
const drainGrace = 5 * time.Second

// run serves a file until ctx ends.
func run(ctx context.Context, o offline.Options, listen []string, logger *slog.Logger, stdout, stderr io.Writer) (err error) {
	bar := command.NewProgress(stderr)
	o.Progress = bar.Show
	s, err := offline.Open(ctx, o, logger)
	bar.End()
	if err != nil {
		if ctx.Err() != nil {
			return nil // the user has ended it
		}
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	warn(s.Info(), logger)
	web := webserver.New(webserver.Options{Flag: "--listen", Handler: s, Limit: webserver.NewAddressLimit(0), Logger: logger})
	if err := web.Listen(ctx, listen); err != nil {
		return err
	}
	background, stop := context.WithCancelCause(context.WithoutCancel(ctx)) // open requests need it after the signal
	var running sync.WaitGroup
	defer running.Wait()
	defer stop(nil)
	for _, part := range []func(context.Context) error{s.Run, web.Serve} {
		running.Go(func() {
			if err := part(background); err != nil {
				stop(err)
			}
		})
	}
	ready, cancel := context.WithCancel(background)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	if s.WaitReady(ready) == nil {
		warnUndecrypted(ready, s, logger)
		_, _ = fmt.Fprintln(stdout, readyLine(s, web.URLs())) // its reader may have gone away
	}
	select {
	case <-ctx.Done():
	case <-background.Done():
		return context.Cause(background)
	}
	s.StartDraining()
	grace, done := context.WithTimeout(background, drainGrace)
	defer done()
	_ = s.Drain(grace) // the connections of what is left are closed
	_ = web.Shutdown(grace)
	return nil
}

// warn says what of the file is not served.
func warn(info offline.Info, logger *slog.Logger) {
	if damage := info.Damage; damage != nil {
		logger.Warn("the file is damaged, and a part of it is served", "error", damage)
	}
	if lagging := info.Lagging; len(lagging) > 0 {
		logger.Warn("some keys were not recorded through the newest revision: what is shown of them is the last state that is known", "prefixes", lagging)
	}
}

// warnUndecrypted says which values cannot be decrypted.
func warnUndecrypted(ctx context.Context, s *offline.Server, logger *slog.Logger) {
	problems, err := s.CheckDecryption(ctx)
	for _, problem := range problems {
		logger.Warn("values of a resource cannot be decrypted, and requests for them get 500: --encryption-provider-config names the file with their keys", "reason", problem)
	}
	if err != nil && ctx.Err() == nil {
		logger.Warn("whether all values can be decrypted is not known", "error", err)
	}
}

// readyLine says where the file is served, and what it is.
func readyLine(s *offline.Server, urls []string) string {
	info := s.Info()
	line := fmt.Sprintf("READY http=%s etcd=%s revision=%d data=%s mode=read-only prefix=%s keys=%d revisions=%d-%d",
		strings.Join(urls, ","), word(info.File), info.Newest, data(s.Owner()), word(s.Prefix()), info.Keys, info.Oldest, info.Newest)
	if info.Journal && !info.Began.IsZero() {
		line += fmt.Sprintf(" from=%s until=%s", info.Began.UTC().Format(time.RFC3339), info.Ended.UTC().Format(time.RFC3339))
	}
	return line
}

// data names whose data it is.
func data(owner claim.Owner) string {
	switch owner {
	case claim.Own:
		return "revtail"
	case claim.Unclaimed:
		return "none"
	}
	return string(owner)
}

// word returns a text as one field of the line.
func word(text string) string {
	if quoted := fmt.Sprintf("%q", text); strings.Contains(text, " ") || quoted != `"`+text+`"` {
		return quoted
	}
	return text
}
