package gateway

import (
	"revtail/encoding"
	"revtail/encoding/projection"
	"revtail/etcdstore"
	"revtail/gateway/watchcache"
)

// keyEncoder writes the events of a watch of keys as JSON lines.
type keyEncoder struct {
	prev   bool                   // with the value before the change
	fields *projection.Projection // of the values; nil: the whole value
}

func (keyEncoder) contentType() string { return "application/x-ndjson" }

func (keyEncoder) preamble() []byte { return nil }

func (f keyEncoder) event(dst []byte, c watchcache.Change, last bool) []byte {
	e := encoding.KeyEvent{Type: "PUT", Revision: int64(c.Revision), Last: last, Skipped: c.Skipped}
	if c.Type == encoding.Deleted {
		e.Type, e.Key = "DELETE", c.Object.Path()
	} else {
		e.Current = f.project(c.Object.JSON)
	}
	if f.prev && c.Previous != nil {
		e.Previous = f.project(c.Previous.JSON)
	}
	return encoding.AppendKeyEvent(dst, e)
}

func (f keyEncoder) project(document []byte) []byte {
	return selection{fields: f.fields}.project(document)
}

func (keyEncoder) bookmark(dst []byte, through etcdstore.Revision, end bool) []byte {
	e := encoding.KeyEvent{Type: "PROGRESS", Revision: int64(through)}
	if end {
		e.Type = "SYNC"
	}
	return encoding.AppendKeyEvent(dst, e)
}

func (keyEncoder) errorEvent(dst []byte, err error) []byte {
	status := keysStatus(err)
	return encoding.AppendKeyError(dst, int(status.Code), string(status.Reason), status.Message)
}

func (keyEncoder) shared() bool { return true }
