package change

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"revtail/cmd/revtail/diff"
)

// showChange shows what the write changes, and reports whether that is anything. Values of Secrets are redacted in any case.
func (r *restorer) showChange(w io.Writer, live, result json.RawMessage) (different bool, err error) {
	before, err := r.comparable(live)
	if err != nil {
		return false, err
	}
	after, err := r.comparable(result)
	if err != nil {
		return false, err
	}
	if bytes.Equal(before, after) {
		return false, nil
	}
	var out bytes.Buffer
	word, color := "change", diff.Yellow
	switch {
	case live == nil:
		word, color = "create", diff.Green
	case result == nil:
		word, color = "delete", diff.Red
	}
	r.colors.Text(&out, color, word)
	fmt.Fprintf(&out, " %s\n", r.full())
	if err := r.colors.Unified(&out, "live", before, r.from, after); err != nil {
		return true, err
	}
	_, err = w.Write(out.Bytes())
	return true, err
}

// comparable returns an object as it is compared; nil stays nil.
func (r *restorer) comparable(object json.RawMessage) ([]byte, error) {
	if object == nil {
		return nil, nil
	}
	return diff.Normal(r.sources.Options.Key.Object(object), false)
}
