package gateway

import (
	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/watchcache"
)

// keysEncoder writes the events of a watch of keys as JSON lines.
type keysEncoder struct {
	prev   bool                 // with the value before the change
	fields *encoding.Projection // of the values; nil: the whole value
}

func (keysEncoder) contentType() string { return "application/x-ndjson" }

func (keysEncoder) opening() []byte { return nil }

func (k keysEncoder) event(dst []byte, c watchcache.Change, last bool) []byte {
	e := encoding.KeyEvent{Type: "PUT", Revision: int64(c.Revision), Last: last, Skipped: c.Skipped}
	if c.Type == encoding.Deleted {
		e.Type, e.Key = "DELETE", c.Object.Path()
	} else {
		e.Current = k.project(c.Object.JSON)
	}
	if k.prev && c.Previous != nil {
		e.Previous = k.project(c.Previous.JSON)
	}
	return encoding.AppendKeyEvent(dst, e)
}

func (k keysEncoder) project(document []byte) []byte {
	return selection{fields: k.fields}.project(document)
}

func (keysEncoder) mark(dst []byte, through etcdstore.Revision, end bool) []byte {
	e := encoding.KeyEvent{Type: "PROGRESS", Revision: int64(through)}
	if end {
		e.Type = "SYNC"
	}
	return encoding.AppendKeyEvent(dst, e)
}

func (keysEncoder) failure(dst []byte, err error) []byte {
	status := keysStatus(err)
	return encoding.AppendKeyError(dst, int(status.Code), string(status.Reason), status.Message)
}

func (keysEncoder) shared() bool { return true }
