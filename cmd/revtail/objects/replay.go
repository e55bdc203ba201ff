package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/history/historyapi"
)

// checkReplay refuses flags that have no effect with --until, or without it.
func (w *watcher) checkReplay(cmd *cobra.Command) error {
	if w.until.IsZero() {
		if w.speed != 0 {
			return errors.New("--speed has no effect without --until: want the end of the replay there, as --since 02:00 --until 02:30")
		}
		return nil
	}
	if w.initial {
		return errors.New("--initial has no effect with --until: the replay has changes only")
	}
	for _, name := range []string{"selector", "field-selector"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s has no effect with --until: want --filter, as --filter 'object.metadata.labels.app == \"web\"'", name)
		}
	}
	if w.isTable() {
		return fmt.Errorf("--output %s is not possible with --until: want diff, json, yaml, name or a template", w.format)
	}
	return historyapi.CheckInterval(w.moment, w.until)
}

// replay prints the recorded changes from --since to --until.
func (w *watcher) replay(ctx context.Context, c *client.Client) error {
	var queries []client.Query
	var readers []*historyapi.Reader
	for _, target := range w.targets {
		for _, q := range w.queries(target) {
			queries = append(queries, q)
			readers = append(readers, &historyapi.Reader{Client: c, Query: historyapi.Query{
				Resource: q.Resource, Namespace: q.Namespace, Name: q.Name, Filter: q.Filter, Since: w.after(), Until: w.until.Query(), Previous: true,
			}})
		}
	}
	w.events = newEventWriter(&w.printing, w.stdout, true)
	var last time.Time
	changes := 0
	for e, err := range historyapi.Merge(ctx, readers, nil) {
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case e.IsGap():
			w.notice(e.GapText())
			continue
		}
		if !w.pause(ctx, last, e.Time) {
			return nil
		}
		if last, changes = e.Time, changes+1; e.Object == nil {
			w.notice(fmt.Sprintf("%s %s at revision %d: %s", e.Type, queries[e.Index].Resource.ObjectName(e.Name), e.Revision, cmp.Or(e.Unreadable, "the values are not recorded")))
			continue
		}
		if err := w.onEvent(ctx, queries[e.Index], eventOf(e.Entry)); err != nil {
			return err
		}
	}
	w.notice(fmt.Sprintf("changes replayed: %d", changes))
	return nil
}

// after is --since as a parameter of the history. --since 4711 means the changes after that revision, and the history begins with it.
func (w *watcher) after() string {
	if w.moment.Revision != 0 {
		return fmt.Sprint(w.moment.Revision + 1)
	}
	return w.moment.Query()
}

// pause waits for the time between two changes, and reports whether the replay goes on.
func (w *watcher) pause(ctx context.Context, before, now time.Time) bool {
	if pause := w.speed.Pause(before, now); pause > 0 {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// eventOf returns a recorded change as the event of a watch.
func eventOf(e historyapi.Entry) client.Event {
	out := client.Event{Type: e.Type, Time: e.Time, Object: client.Object{Namespace: e.Namespace, Name: e.Name, Revision: e.Revision, JSON: e.Object}}
	if e.Previous != nil {
		old := out.Object
		old.JSON = e.Previous
		out.Old = &old
	}
	return out
}
