package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
	"revtail/cmd/revtail/history/historyapi"
)

// blamer is one run of the command blame.
type blamer struct {
	session
	managedFields bool

	known  *tree // the object after the last change; nil: it does not exist, or no change is known yet
	last   historyapi.Entry
	before *origin // of what was there before the first change
	gap    historyapi.Entry
}

// NewBlameCommand returns the command blame.
func NewBlameCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "blame (RESOURCE NAME | RESOURCE/NAME)",
		GroupID: command.GroupRead,
		Short:   "Print an object with the change that set each field: revision, time and field manager",
		Long: `Print an object as YAML, each field with the change that set its value: the revision, the local time and the field manager. The gateway
needs --history-dir.

A field that was there before the history begins has 'before REVISION'. A field that has another value after a gap of the history has
'between A and B'. Elements of lists are found by their name or type, and others by their position. An object that was deleted and created
again begins with its last creation.

Values of Secrets are redacted, unless --redact none is given.

Exit codes: 0 printed; 1 refused or failed, or the object does not exist; 2 wrong command line.`,
		Example: `  revtail blame deploy/web -n shop
  revtail blame configmap web`,
	}
	b := &blamer{before: &origin{}}
	cmd.Flags().BoolVar(&b.managedFields, "show-managed-fields", false, "keep metadata.managedFields")
	b.addFlags(cmd)
	cmd.ValidArgsFunction = completion.Objects(&b.gateway, nil)
	cmd.RunE = command.AnyArgs(b.run)
	return cmd
}

func (b *blamer) run(cmd *cobra.Command, args []string) error {
	object, err := b.object(cmd, args)
	if err != nil {
		return err
	}
	defer b.client.Close()
	name := fullName(object.Resource, object.Namespace, object.Name)
	list, err := b.client.Read(cmd.Context(), object)
	gone := client.HasCode(err, http.StatusNotFound)
	if err != nil && !gone {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := b.read(cmd.Context(), object); err != nil {
		return err
	}
	switch {
	case gone && b.last.Type == "DELETED":
		return fmt.Errorf("%s does not exist: it was deleted at revision %d (%s). 'revtail history %s' prints its changes", name, b.last.Revision, localTime(b.last.Time), name)
	case gone && b.known == nil:
		return fmt.Errorf("%s does not exist, and no change of it is known: changes are recorded since revision %d", name, b.before.until)
	}
	if !gone && list.Revision > b.last.Revision {
		if err := b.unseen(list.Objects[0].JSON, list.Revision); err != nil {
			return err
		}
	}
	if b.known == nil {
		return fmt.Errorf("%s is deleted just now, at revision %d", name, b.last.Revision)
	}
	return b.print(cmd.OutOrStdout())
}

// read follows the object through its changes.
func (b *blamer) read(ctx context.Context, object client.Query) error {
	reader := &historyapi.Reader{Client: b.client, Query: historyapi.Query{Resource: object.Resource, Namespace: object.Namespace, Name: object.Name, Previous: true}}
	for e, err := range reader.Entries(ctx) {
		if err != nil {
			return err
		}
		if err := b.add(e); err != nil {
			return err
		}
	}
	b.before.until = reader.End.Oldest
	return nil
}

// add follows the object through a change.
func (b *blamer) add(e historyapi.Entry) (err error) {
	if e.IsGap() {
		b.gap = e
		return nil
	}
	missed := b.missed(e.Revision)
	b.last = e
	switch {
	case e.Type == "DELETED":
		b.known = nil
		return nil
	case e.Object == nil, e.Unreadable != "":
		return errors.New(e.Missing())
	case e.Type == "ADDED":
		b.known = nil
	case e.Previous != nil:
		if b.known, err = b.grow(e.Previous, missed); err != nil {
			return err
		}
	}
	b.known, err = b.grow(e.Object, &origin{revision: e.Revision, time: localTime(e.Time), manager: orUnknown(e.Manager)})
	return err
}

// missed is the origin of what has changed, until a revision, since the last change that is known.
func (b *blamer) missed(until int64) *origin {
	isGap := b.gap.Until > b.last.Revision
	switch {
	case b.last.Revision == 0 && isGap:
		return &origin{until: min(b.gap.Until, until)}
	case b.last.Revision == 0:
		return b.before
	case isGap:
		return &origin{after: b.gap.After, until: min(b.gap.Until, until)}
	}
	return &origin{after: b.last.Revision, until: until}
}

// unseen adds the present state of an object whose last change is not recorded.
func (b *blamer) unseen(object []byte, revision int64) (err error) {
	b.known, err = b.grow(object, b.missed(revision))
	return err
}

// grow returns the tree after a change to an object.
func (b *blamer) grow(object json.RawMessage, by *origin) (*tree, error) {
	value, err := decodeValue(b.hide(object))
	if err != nil {
		return nil, fmt.Errorf("an object of the history: %w", err)
	}
	if metadata, _ := value["metadata"].(map[string]any); !b.managedFields {
		delete(metadata, "managedFields")
	}
	return grow(b.known, value, by), nil
}

// String says when a value was set.
func (o *origin) String() string {
	switch {
	case o.revision != 0:
		return strconv.FormatInt(o.revision, 10)
	case o.after != 0:
		return fmt.Sprintf("between %d and %d", o.after, o.until)
	}
	return fmt.Sprintf("before %d", o.until)
}
