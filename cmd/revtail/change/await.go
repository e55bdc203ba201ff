package change

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"revtail/cmd/revtail/client"
)

// errGone ends the watch of an object that is gone.
var errGone = errors.New("gone")

// await watches an object until it is gone, and says which finalizers keep it.
func (d *deleter) await(ctx context.Context, v victim) error {
	var finalizers []string
	look := func(object json.RawMessage) error {
		m, err := metaOf(object)
		if err != nil {
			return err
		}
		if m.Metadata.UID != v.uid {
			return errGone // another one has the name now
		}
		if !slices.Equal(finalizers, m.Metadata.Finalizers) {
			finalizers = m.Metadata.Finalizers
			d.notice(fmt.Sprintf("%s: waiting until the finalizers are removed: %s", v.full(), strings.Join(finalizers, ", ")))
		}
		return nil
	}
	watch := client.Follower{
		Client: d.client, Query: client.Query{Resource: v.resource, Namespace: v.namespace, Name: v.name}, OnNotice: d.notice,
		OnList: func(list client.List) error {
			if len(list.Objects) == 0 {
				return errGone
			}
			return look(list.Objects[0].JSON)
		},
		OnEvent: func(e client.Event) error {
			if e.Type == "DELETED" {
				return errGone
			}
			return look(e.Object.JSON)
		},
	}
	err := watch.Run(ctx)
	switch {
	case errors.Is(err, errGone):
		return nil
	case err == nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s is not gone after %v: the finalizers that keep it are %s. The programs that own them remove them", v.full(), d.timeout, strings.Join(finalizers, ", "))
	case err == nil:
		return fmt.Errorf("%s is not gone: the wait was interrupted, and its deletion goes on", v.full())
	}
	return fmt.Errorf("%s: %w", v.full(), err)
}

func (d *deleter) notice(text string) {
	_, _ = fmt.Fprintf(d.stderr, "revtail: %s\n", text) // the wait continues without its notices
}
