package keys

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/diff"
	"revtail/cmd/revtail/keys/keyapi"
)

var writeOutputs = []string{"text", "json"}

// putter is one run of the command put.
type putter struct {
	session
	condition
	file   string
	ttl    time.Duration
	dryRun bool
	color  string
}

// condition is what must be true of a key for a write to it.
type condition struct {
	revision int64 // of the last write to the key; zero: any
	absent   bool  // the key must not exist
}

func (c condition) header() http.Header {
	out := http.Header{}
	if c.revision > 0 {
		out.Set("If-Match", strconv.Quote(strconv.FormatInt(c.revision, 10)))
	}
	if c.absent {
		out.Set("If-None-Match", "*")
	}
	return out
}

// check returns an error if the condition does not hold for a key; now is nil if the key does not exist.
func (c condition) check(key string, now *keyapi.Item) error {
	switch {
	case c.absent && now != nil:
		return fmt.Errorf("%q exists, with revision %d, and --if-absent is given: nothing is written", key, now.ModRevision)
	case c.revision > 0 && now == nil:
		return fmt.Errorf("%q does not exist, and --if-revision %d is given: nothing is written", key, c.revision)
	case c.revision > 0 && now.ModRevision != c.revision:
		return fmt.Errorf("%q has revision %d, and not %d, which --if-revision wants: nothing is written", key, now.ModRevision, c.revision)
	}
	return nil
}

// explain describes the response 412 by the flags. The gateway has written nothing.
func (c condition) explain(ctx context.Context, s *session, key string, err error) error {
	if !client.HasCode(err, http.StatusPreconditionFailed) {
		return err
	}
	now, failed := s.Read(ctx, key, 0)
	if failed != nil {
		return err
	}
	if precise := c.check(key, now); precise != nil {
		return precise
	}
	return err
}

func newPutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "put KEY VALUE|-|--file FILE",
		Short: "Write a value under a key, byte for byte",
		Long: `Write a value under a key, byte for byte, and print the revision of the write.

The value is an argument, a file, or with - the standard input. A value that begins with a dash follows two dashes. --dry-run writes
nothing: it prints what the write would change, after the gateway has checked that the caller may write the key.` + exitCodes,
		Example: `  revtail keys put /app/config/theme '{"colour":"red"}'
  revtail keys put /app/logo --file logo.png --if-revision 7
  echo hello | revtail keys put /app/lock - --if-absent --ttl 30s
  revtail keys put /app/offset -- -5`,
	}
	p := &putter{}
	set := cmd.Flags()
	set.StringVar(&p.file, "file", "", "`file` with the value")
	set.Int64Var(&p.revision, "if-revision", 0, "write only if this is the `revision` of the last write to the key")
	set.BoolVar(&p.absent, "if-absent", false, "write only if the key does not exist")
	set.DurationVar(&p.ttl, "ttl", 0, "`time` after which the key is deleted, as 30s or 1h; none: it stays")
	set.BoolVar(&p.dryRun, "dry-run", false, "write nothing, and print what would change")
	set.StringVar(&p.color, "color", "auto", "colours of --dry-run: auto (on a terminal, unless NO_COLOR is set), always or never")
	p.addFlags(cmd, writeOutputs...)
	p.addKeyFlags(cmd, false)
	cmd.RunE = command.MaxArgs(2, p.run)
	return cmd
}

func (p *putter) run(cmd *cobra.Command, args []string) error {
	content, key, err := p.parse(cmd, args)
	if err != nil {
		return err
	}
	if err := p.connect(cmd, writeOutputs...); err != nil {
		return err
	}
	defer p.Close()
	if p.dryRun {
		return p.show(cmd, key, content)
	}
	values := keyapi.Query(key)
	if p.ttl > 0 {
		values.Set("ttl", p.ttl.String())
	}
	header := p.header()
	header.Set("Content-Type", "application/octet-stream")
	var answer json.RawMessage
	err = p.Call(cmd.Context(), client.Request{Method: http.MethodPut, Path: keyapi.Path, Query: values, Header: header, Body: content}, &answer)
	if err != nil {
		return p.explain(cmd.Context(), &p.session, key, err)
	}
	return p.printAnswer(cmd, answer)
}

// parse reads the command line and the value.
func (p *putter) parse(cmd *cobra.Command, args []string) (content []byte, key string, err error) {
	keys, err := p.keys(cmd, args[:min(len(args), 1)], "/app/config/theme '{\"colour\":\"red\"}'")
	if err != nil {
		return nil, "", err
	}
	ttl := cmd.Flags().Changed("ttl")
	switch {
	case keyapi.IsPrefix(keys[0]):
		err = usageError(cmd, "%q ends with /, which makes it a prefix: want a key, as %stheme", keys[0], keys[0])
	case cmd.Flags().Changed("if-revision") && p.revision <= 0:
		err = usageError(cmd, "--if-revision %d: want the revision of a key, as keys ls shows it; --if-absent is for a key that does not exist", p.revision)
	case p.absent && p.revision > 0:
		err = usageError(cmd, "--if-revision wants a key that exists, and --if-absent one that does not: leave one of them out")
	case ttl && p.ttl < time.Second:
		err = usageError(cmd, "--ttl %v: want a time of at least a second, as 30s or 1h", p.ttl)
	case len(args) == 2 && p.file != "":
		err = usageError(cmd, "a value and --file are given: leave one of them out")
	}
	if err != nil {
		return nil, "", err
	}
	content, err = p.content(cmd, args[1:])
	return content, keys[0], err
}

// content reads the value.
func (p *putter) content(cmd *cobra.Command, args []string) ([]byte, error) {
	switch {
	case p.file != "":
		content, err := os.ReadFile(p.file)
		if err != nil {
			return nil, command.UsageError(fmt.Errorf("--file: %w", err))
		}
		return content, nil
	case len(args) > 0 && args[0] == "-":
		return io.ReadAll(cmd.InOrStdin())
	case len(args) == 0:
		return readPiped(cmd)
	}
	return []byte(args[0]), nil
}

// readPiped reads the value from standard input if that is a pipe or a file, as etcdctl does. Without - it must not be empty: a script
// whose standard input is closed would delete the value.
func readPiped(cmd *cobra.Command) ([]byte, error) {
	f, isFile := cmd.InOrStdin().(*os.File)
	if isFile {
		if info, err := f.Stat(); err == nil && (info.Mode()&os.ModeNamedPipe != 0 || info.Mode().IsRegular()) {
			content, err := io.ReadAll(f)
			if len(content) > 0 || err != nil {
				return content, err
			}
		}
	}
	return nil, usageError(cmd, "no value is given: want a VALUE, - for the standard input, or --file FILE")
}

func (p *putter) printAnswer(cmd *cobra.Command, answer json.RawMessage) error {
	if p.output == "json" {
		return printJSON(cmd.OutOrStdout(), answer)
	}
	var read struct {
		Revision   int64
		Lease, TTL string
	}
	err := json.Unmarshal(answer, &read)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("revision %d", read.Revision)
	if read.TTL != "" {
		text += fmt.Sprintf(", ttl %s, lease %s", read.TTL, read.Lease)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
	return err
}

func printJSON(w io.Writer, text json.RawMessage) error {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, string(bytes.TrimSpace(out.Bytes())))
	return err
}

// show prints what a put would change.
func (p *putter) show(cmd *cobra.Command, key string, content []byte) error {
	colored, err := command.UseColor(p.color, cmd.OutOrStdout())
	if err != nil {
		return command.UsageError(err)
	}
	put := keyapi.TxnOp{Put: &keyapi.TxnPut{Name: keyapi.NewName(key), Value: keyapi.NewValue(content)}}
	if err := p.CheckWrite(cmd.Context(), key, put); err != nil {
		return err
	}
	now, err := p.Read(cmd.Context(), key, 0)
	if err == nil {
		err = p.check(key, now)
	}
	if err != nil {
		return err
	}
	var before []byte
	verb := "create"
	if now != nil {
		verb = "change"
		if before, err = now.Bytes(); err != nil {
			return err
		}
	}
	same := now != nil && bytes.Equal(before, content)
	if same {
		verb = "write the same value to"
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "would %s %s (%d bytes)\n", verb, command.Printable(key), len(content))
	if !same {
		lines, failed := diffValues(before, content, now != nil)
		if failed != nil {
			return failed
		}
		diff.Printer{Colored: colored}.Lines(&out, lines)
	}
	_, err = cmd.OutOrStdout().Write(out.Bytes())
	return err
}
