package keys

import (
	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/http/status"
	"revtail/gateway/watchcache"
)

// keyEncoder writes the events of a watch of keys as JSON lines.
type keyEncoder struct {
	prev     bool // with the value before the change
	selected selection
}

func (keyEncoder) ContentType() string { return "application/x-ndjson" }

func (keyEncoder) Preamble() []byte { return nil }

func (f keyEncoder) Event(dst []byte, c watchcache.Change, last bool) []byte {
	e := encoding.KeyEvent{Type: "PUT", Revision: int64(c.Revision), Last: last, Skipped: c.Skipped}
	if c.Type == encoding.Deleted {
		e.Type, e.Key = "DELETE", c.Object.Path()
	} else {
		e.Current = f.selected.project(c.Object.JSON)
	}
	if f.prev && c.Previous != nil {
		e.Previous = f.selected.project(c.Previous.JSON)
	}
	return encoding.AppendKeyEvent(dst, e)
}

func (keyEncoder) Bookmark(dst []byte, through etcdstore.Revision, end bool) []byte {
	e := encoding.KeyEvent{Type: "PROGRESS", Revision: int64(through)}
	if end {
		e.Type = "SYNC"
	}
	return encoding.AppendKeyEvent(dst, e)
}

func (keyEncoder) ErrorEvent(dst []byte, err error) []byte {
	st := status.OfKeys(err)
	return encoding.AppendKeyError(dst, int(st.Code), string(st.Reason), st.Message)
}

func (keyEncoder) Shared() bool { return true }
