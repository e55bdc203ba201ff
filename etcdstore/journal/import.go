package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// maxLine bounds a line of an export: etcd's values are far smaller.
	maxLine = 256 << 20
	// importBatch is how many bytes one batch of an import has.
	importBatch = 1 << 20
)

// Import makes a journal in a directory from an export. The directory must not exist, or be empty, and appears when the journal is complete. The error
// names the line that is wrong.
func Import(ctx context.Context, dir string, from io.Reader, logger *slog.Logger, progress Progress) (Summary, error) {
	if err := checkEmpty(dir); err != nil {
		return Summary{}, err
	}
	dir = filepath.Clean(dir)
	temporary := dir + importSuffix
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return Summary{}, err
	}
	if err := removeIncomplete(temporary, logger); err != nil {
		return Summary{}, err
	}
	if err := os.Mkdir(temporary, 0o700); err != nil {
		return Summary{}, err
	}
	sum, err := importInto(ctx, temporary, from, logger, progress)
	if err == nil {
		err = publish(temporary, dir)
	}
	if err != nil {
		return Summary{}, errors.Join(err, os.RemoveAll(temporary))
	}
	return sum, nil
}

func importInto(ctx context.Context, dir string, from io.Reader, logger *slog.Logger, progress Progress) (Summary, error) {
	if err := os.WriteFile(filepath.Join(dir, incompleteFile), nil, 0o600); err != nil {
		return Summary{}, err
	}
	j, err := openDatabase(dir, logger, ReadWrite)
	if err != nil {
		return Summary{}, err
	}
	i := &importer{journal: j, batch: j.db.NewBatch()}
	err = i.read(ctx, from, progress)
	return i.sum, errors.Join(err, i.batch.Close(), j.Close())
}

// importer writes the lines of an export into a journal.
type importer struct {
	journal *Journal
	batch   *pebble.Batch
	order   order
	writer  *Writer // of the present range; nil: none yet
	last    event   // whose time is not written yet
	index   int     // of the last event in its revision
	omitted bool    // the value of the present line
	sum     Summary
	ended   bool
}

var errNoExport = fmt.Errorf("want an export of a journal, whose first line is {%q:%q}", "format", exportFormat)

func (i *importer) read(ctx context.Context, from io.Reader, progress Progress) error {
	const buffer = 1 << 20
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, buffer), maxLine)
	read, number := int64(0), 1
	for ; lines.Scan(); number++ {
		err := ctx.Err()
		if err != nil {
			return err
		}
		var l line
		if number == 1 && !IsExport(lines.Bytes()) {
			err = errNoExport
		} else if l, err = parseLine(lines.Bytes()); err == nil {
			err = i.add(l, number == 1)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		read += int64(len(lines.Bytes())) + 1
		progress.show("importing", read, 0)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: reading the export: %w", number, err)
	}
	if !i.ended {
		return fmt.Errorf("the export is cut off after line %d: its last line, which counts the events, is missing", number-1)
	}
	return nil
}

// add writes a line.
func (i *importer) add(l line, first bool) error {
	switch {
	case first && l.Format != exportFormat:
		return errNoExport
	case first:
		return nil
	case i.ended:
		return errors.New("want nothing after the end")
	case l.Format != "":
		return errors.New("want the format in the first line only")
	case l.Range != nil:
		return i.begin(l.Range)
	case l.End != nil:
		return i.end(*l.End)
	case i.writer == nil:
		return errors.New("want a range before what it has")
	case l.Time != nil:
		return i.addTime(*l.Time)
	case l.State != nil:
		if err := i.order.state(l.State); err != nil {
			return err
		}
		i.sum.States++
		return i.set(l.State)
	}
	return i.addEvent(l.Event)
}

// begin begins a range. Its record is written when it is complete.
func (i *importer) begin(l *rangeLine) error {
	if err := i.finish(); err != nil {
		return err
	}
	known := i.journal.newRange(l.Prefix, l.Except)
	known.History = l.History
	known.Oldest, known.Through, known.Gaps, known.Former, known.Ended = l.Oldest, l.Through, l.Gaps, l.Former, l.Ended
	for _, other := range i.journal.Ranges() {
		if known.Continues() && other.Continues() && other.Prefix == known.Prefix {
			return fmt.Errorf("want one range of %q that is neither a former one nor ended", known.Prefix)
		}
	}
	i.writer = &Writer{journal: i.journal, current: known, tails: newTails(maxTails), omit: func(string, []byte) bool { return i.omitted }}
	i.order = order{known: known}
	i.sum.Ranges++
	return nil
}

// set writes a state.
func (i *importer) set(c *changeLine) error {
	i.omitted = c.Omitted
	if err := i.writer.set(i.batch, c.key(), c.Revision, c.kv()); err != nil || i.batch.Len() < importBatch {
		return err
	}
	return i.commit()
}

func (i *importer) commit() error {
	if free, ok := i.journal.Free(); ok && free <= Reserve {
		return errors.New("the disk has less than 256 MiB free")
	}
	if err := i.batch.Commit(pebble.NoSync); err != nil {
		return fmt.Errorf("writing to the journal: %w", err)
	}
	i.batch.Reset()
	i.writer.tails.trim()
	return nil
}

func (i *importer) addTime(l timeLine) error {
	at, err := parseTime(l.At)
	switch {
	case err != nil:
		return err
	case l.Revision <= 0 || l.Revision > i.order.known.Through || i.order.known.hasEvent(l.Revision):
		return fmt.Errorf("the time of revision %d: want one at which a state was read", l.Revision)
	}
	return i.batch.Set(timeKey(i.writer.current.Number, at, l.Revision), nil, nil)
}

func (i *importer) addEvent(c *changeLine) error {
	arrived, err := parseTime(c.At)
	if err != nil {
		return err
	}
	if err := i.order.event(c); err != nil {
		return err
	}
	next := event{c.Revision, c.key(), arrived}
	if i.index++; next.revision != i.last.revision {
		i.index = 0
	}
	if !next.arrived.Equal(i.last.arrived) {
		if err := i.writeTime(); err != nil {
			return err
		}
	}
	i.last = next
	i.sum.Events++
	if err := i.batch.Set(eventKey(i.writer.current.Number, next.revision, i.index), eventValue(next.key, arrived), nil); err != nil {
		return err
	}
	return i.set(c)
}

// writeTime writes the time of the last event. Of events that arrived at a time the last one counts.
func (i *importer) writeTime() error {
	if i.last.revision == 0 {
		return nil
	}
	return i.batch.Set(timeKey(i.writer.current.Number, i.last.arrived, i.last.revision), nil, nil)
}

// finish completes the range.
func (i *importer) finish() error {
	if i.writer == nil {
		return nil
	}
	if err := errors.Join(i.writeTime(), i.journal.commit(i.batch, i.writer.current, pebble.Sync)); err != nil {
		return err
	}
	i.batch.Reset()
	i.writer, i.last, i.index = nil, event{}, 0
	return nil
}

// end compares what was read with what the export counted.
func (i *importer) end(want exportCount) error {
	if got := (exportCount{i.sum.Ranges, i.sum.States, i.sum.Events}); got != want {
		return fmt.Errorf("the export has %d ranges, %d states and %d events, and %d, %d and %d were read: lines are missing, or too many",
			want.Ranges, want.States, want.Events, got.Ranges, got.States, got.Events)
	}
	i.ended = true
	return i.finish()
}
