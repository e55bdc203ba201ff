package keyapi

import (
	"encoding/json"
	"errors"
	"fmt"

	"revtail/cmd/revtail/client"
)

// Event is an event of a watch.
type Event struct {
	Item
	Type     string
	Revision int64
	Last     bool // no event of this revision follows
	Prev     *Item
	Error    *struct {
		Status int
		Detail string
	}

	Line     json.RawMessage // the event as the gateway has sent it
	Inferred bool            // found by comparing two states, after a compaction
}

func decodeEvent(line []byte) (Event, error) {
	e := Event{Line: line}
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("an event: %w", err)
	}
	if e.Error != nil {
		return e, &client.StatusError{Code: e.Error.Status, Message: e.Error.Detail}
	}
	if e.Type == "" {
		return e, errors.New("an event without a type")
	}
	return e, nil
}
