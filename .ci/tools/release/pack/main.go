// Command pack writes the archives and the container image of a release. The same input gives the same bytes: entries are sorted, have
// no owner, and have the time of the commit.
//
//	pack archive -time 2026-11-21T03:46:00Z -folder revtail-v0.1.0 SOURCE OUT.tar.gz    (or .tgz, or .zip)
//	pack image   -time 2026-11-21T03:46:00Z -label K=V... -tag revtail:v0.1.0 -dockerfile FILE OUT.tar linux/amd64=CONTEXT...
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("want pack archive or pack image")
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	at := flags.String("time", "", "time of all entries, RFC 3339")
	folder := flags.String("folder", "", "folder in the archive")
	dockerfile := flags.String("dockerfile", "", "what the image is made of")
	tag := flags.String("tag", "", "name of the image")
	var labels list
	flags.Var(&labels, "label", "label of the image")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	when, err := time.Parse(time.RFC3339, *at)
	if err != nil {
		return fmt.Errorf("-time: %w", err)
	}
	when = when.UTC()
	switch {
	case args[0] == "archive" && flags.NArg() == 2:
		return writeArchive(flags.Arg(0), *folder, flags.Arg(1), when)
	case args[0] == "image" && flags.NArg() >= 2:
		return writeImage(imageOptions{dockerfile: *dockerfile, tag: *tag, labels: labels, when: when, contexts: flags.Args()[1:]}, flags.Arg(0))
	}
	return fmt.Errorf("wrong arguments for %s: see the comment of the program", args[0])
}
