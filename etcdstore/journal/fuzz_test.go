package journal

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"reflect"
	"testing"

	"revtail/etcdstore"
)

// FuzzEntry checks that no bytes make parseEntry fail in another way than with an error, and that entries are read as they were written.
func FuzzEntry(f *testing.F) {
	f.Add(entry{created: 3, version: 2, lease: 1, value: []byte("value")}.encode())
	f.Add(entry{depth: 3, created: 3, value: []byte("difference")}.encode())
	f.Add([]byte{deletedFlag})
	f.Add([]byte{deltaFlag, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parseEntry(data)
		if err != nil {
			return
		}
		if again, err := parseEntry(e.encode()); err != nil || !reflect.DeepEqual(normal(e), normal(again)) {
			t.Errorf("%+v is read as %+v, %v", e, again, err)
		}
	})
}

func normal(e entry) entry {
	e.value = append([]byte{}, e.value...)
	return e
}

// FuzzImport checks that an import refuses a file, or makes a journal that Verify finds intact and whose export is imported again.
func FuzzImport(f *testing.F) {
	f.Add([]byte(`{"format":"revtail.journal/v1"}
{"range":{"prefix":"/r/","history":"7","oldest":3,"through":20,"gaps":[{"after":8,"until":12}]}}
{"time":{"at":"2026-11-28T05:20:00.000Z","revision":3}}
{"state":{"revision":2,"key":"/r/a","created":2,"version":1,"value":"dmFsdWU="}}
{"event":{"revision":5,"at":"2026-11-28T05:20:01.000Z","key":"/r/a","deleted":true}}
{"state":{"revision":10,"keyBase64":"L3IvYf8=","created":9,"version":2,"omitted":true}}
{"event":{"revision":13,"at":"2026-11-28T05:20:01.000Z","key":"/r/a","created":13,"version":1,"lease":5}}
{"end":{"ranges":1,"states":2,"events":2}}
`))
	f.Add([]byte(`{"format":"revtail.journal/v1"}` + "\n" + `{"end":{"ranges":0,"states":0,"events":0}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		logger := slog.New(slog.DiscardHandler)
		dir := filepath.Join(t.TempDir(), "journal")
		if _, err := Import(t.Context(), dir, bytes.NewReader(text), logger, nil); err != nil {
			return
		}
		j, err := OpenExisting(dir, logger, ReadOnly)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = j.Close() }()
		if _, err := j.Verify(t.Context(), func(err error) { t.Errorf("verify: %v", err) }, nil); err != nil {
			t.Error(err)
		}
		var exported bytes.Buffer
		if _, err := j.Export(t.Context(), &exported, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := Import(t.Context(), dir+"-again", &exported, logger, nil); err != nil {
			t.Errorf("the export is refused: %v", err)
		}
		for _, r := range j.Ranges() {
			if _, err := j.List(t.Context(), r.History, r.Prefix, etcdstore.ListOptions{At: r.Through}); err != nil && !errors.Is(err, ErrUnknown) {
				t.Error(err)
			}
		}
	})
}
