package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"revtail/etcdstore"
)

// exportFormat is what the first line of an export says. DESIGN.md has the lines.
const exportFormat = "revtail.journal/v1"

// IsExport reports whether a line is the first one of an export, of this version or another one.
func IsExport(text []byte) bool { return bytes.HasPrefix(text, []byte(`{"format":"revtail.journal/`)) }

// line is a line of an export: one of its fields is set.
type line struct {
	Format string       `json:"format,omitempty"`
	Range  *rangeLine   `json:"range,omitempty"`
	Time   *timeLine    `json:"time,omitempty"`
	State  *changeLine  `json:"state,omitempty"`
	Event  *changeLine  `json:"event,omitempty"`
	End    *exportCount `json:"end,omitempty"`
}

type rangeLine struct {
	Prefix  string             `json:"prefix"`
	History uint64             `json:"history,string"`
	Oldest  etcdstore.Revision `json:"oldest"`
	Through etcdstore.Revision `json:"through"`
	Except  []string           `json:"except,omitempty"`
	Gaps    []Gap              `json:"gaps,omitempty"`
	Former  bool               `json:"former,omitempty"`
	Ended   bool               `json:"ended,omitempty"`
}

// timeLine says when the state at a revision was read from etcd, or when the last event had arrived that a prune deleted.
type timeLine struct {
	At       string             `json:"at"`
	Revision etcdstore.Revision `json:"revision"`
}

// changeLine is the state of a key from a revision on.
type changeLine struct {
	Revision  etcdstore.Revision `json:"revision"`
	At        string             `json:"at,omitempty"` // when the event arrived
	Key       string             `json:"key,omitempty"`
	KeyBase64 []byte             `json:"keyBase64,omitempty"` // of a key that is not UTF-8
	Deleted   bool               `json:"deleted,omitempty"`
	Omitted   bool               `json:"omitted,omitempty"` // the journal has no value
	Created   etcdstore.Revision `json:"created,omitempty"`
	Version   int64              `json:"version,omitempty"`
	Lease     int64              `json:"lease,omitempty"`
	Value     []byte             `json:"value,omitempty"`
}

// exportCount ends an export.
type exportCount struct {
	Ranges int   `json:"ranges"`
	States int64 `json:"states"`
	Events int64 `json:"events"`
}

const timeLayout = "2006-01-02T15:04:05.000Z07:00"

func formatTime(at time.Time) string { return at.UTC().Format(timeLayout) }

func parseTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.UnixMilli() < 0 {
		return time.Time{}, fmt.Errorf("at %q: want a time, as 2026-11-28T05:20:00.000Z", text)
	}
	return at, nil
}

func (c *changeLine) setKey(key string) {
	if utf8.ValidString(key) {
		c.Key = key
	} else {
		c.KeyBase64 = []byte(key)
	}
}

func (c *changeLine) key() string {
	if len(c.KeyBase64) > 0 {
		return string(c.KeyBase64)
	}
	return c.Key
}

// kv returns the state; nil: the key is deleted.
func (c *changeLine) kv() *etcdstore.KV {
	if c.Deleted {
		return nil
	}
	return &etcdstore.KV{Key: c.key(), Value: c.Value, Created: c.Created, Modified: c.Revision, Version: c.Version, Lease: c.Lease}
}

// check refuses what no export has.
func (c *changeLine) check() error {
	switch {
	case c.Key != "" && len(c.KeyBase64) > 0:
		return errors.New("want key or keyBase64, and not both")
	case c.key() == "":
		return errors.New("want a key")
	case c.Revision <= 0 || c.Created < 0 || c.Created > c.Revision || c.Version < 0:
		return fmt.Errorf("revision %d, created %d, version %d: want positive numbers, and a creation before the revision", c.Revision, c.Created, c.Version)
	case (c.Deleted || c.Omitted) && len(c.Value) > 0:
		return errors.New("want no value, because the key is deleted, or its value omitted")
	}
	return nil
}

// parseLine reads a line of an export.
func parseLine(text []byte) (line, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	out := line{}
	if err := d.Decode(&out); err != nil {
		return line{}, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return line{}, errors.New("want one JSON object a line")
	}
	set := 0
	for _, is := range []bool{out.Format != "", out.Range != nil, out.Time != nil, out.State != nil, out.Event != nil, out.End != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return line{}, errors.New("want one of format, range, time, state, event and end")
	}
	for _, c := range []*changeLine{out.State, out.Event} {
		if c == nil {
			continue
		}
		if err := c.check(); err != nil {
			return line{}, err
		}
	}
	return out, out.checkRange()
}

func (l line) checkRange() error {
	if l.Range == nil {
		return nil
	}
	for _, except := range l.Range.Except {
		if !strings.HasPrefix(except, l.Range.Prefix) {
			return fmt.Errorf("the exception %q: want the beginning of keys of the range", except)
		}
	}
	last := max(l.Range.Oldest, 1) - 1
	for _, gap := range l.Range.Gaps {
		if gap.After <= last || gap.Until <= gap.After {
			return fmt.Errorf("the gap after revision %d until %d: want one that ends later than it begins, and begins at revision %d or later", gap.After, gap.Until, last+1)
		}
		last = gap.Until - 1
	}
	if l.Range.Prefix == "" || l.Range.Oldest <= 0 || last >= l.Range.Through {
		return errors.New("the range: want a prefix, and oldest, the gaps and through in this order")
	}
	return nil
}
