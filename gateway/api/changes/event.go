package changes

import (
	"cmp"
	"encoding/json"
	"time"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/http/response"
	"revtail/gateway/watchcache"
)

// describe returns the line of an event, and the state before; false: the resource shows neither state.
func (r *Reader) describe(e etcdstore.Event) (c change, before []byte, ok bool) {
	now, old := r.decode(e.KV), r.decode(e.Prev)
	shown := now
	switch {
	case now.shown() && old.shown():
		c.Type = string(encoding.Modified)
	case now.shown():
		c.Type = string(encoding.Added)
	case old.shown():
		c.Type, shown = string(encoding.Deleted), old
	default:
		return c, nil, false
	}
	c.Revision, c.Namespace, c.Name = e.Revision, shown.Namespace(), shown.Name()
	if !e.Received.IsZero() {
		c.Time = utc(e.Received)
	}
	c.Omitted, c.Unreadable = now.omitted || old.omitted, cmp.Or(now.unreadable(), old.unreadable())
	c.Object = shown.document()
	if c.Type == string(encoding.Deleted) && len(c.Object) > 0 {
		if at, err := encoding.SetResourceVersion(c.Object, int64(e.Revision)); err == nil {
			c.Object = at
		}
	}
	c.Fields = []string{}
	if c.Type != string(encoding.Deleted) && !c.Omitted && c.Unreadable == "" {
		c.Fields = append(c.Fields, Fields(old.document(), now.document())...)
		c.Manager = ManagerOf(old.document(), now.document())
	}
	return c, old.document(), true
}

// state is one of the states of an event.
type state struct {
	*watchcache.Object // nil: there is none

	omitted bool // its value is not kept
}

func (r *Reader) decode(kv *etcdstore.KV) state {
	switch {
	case kv == nil:
		return state{}
	case kv.Value == nil:
		return state{Object: r.Target.Cache.Decode(etcdstore.KV{Key: kv.Key, Modified: kv.Modified}), omitted: true}
	}
	return state{Object: r.Target.Cache.Decode(*kv)}
}

func (s state) shown() bool {
	return s.Object != nil && (s.omitted || s.unreadable() != "" || s.Shown())
}

// unreadable says why the value cannot be decrypted, or a webhook has not converted it; empty: it can be read.
func (s state) unreadable() string {
	if s.Object == nil || s.Unreadable() == nil {
		return ""
	}
	return s.Unreadable().Error()
}

// document returns the JSON of the state; nil: there is none, or it is not kept.
func (s state) document() json.RawMessage {
	if s.Object == nil || s.omitted || len(s.JSON) == 0 {
		return nil
	}
	return json.RawMessage(s.JSON)
}

func utc(at time.Time) *time.Time {
	at = at.UTC()
	return &at
}

// appendLine appends a line of the response. The documents in it are valid JSON.
func appendLine(p *response.Body, line any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // no field of a line can fail
	}
	p.Bytes = append(append(p.Bytes, text...), '\n')
}
