package change

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
	"revtail/cmd/revtail/history/historyapi"
	"revtail/cmd/revtail/manifest"
	"revtail/etcdstore/redaction"
)

// undoer is one run of the command undo.
type undoer struct {
	restorer

	to     historyapi.Moment
	dryRun bool
}

// NewUndoCommand returns the command undo.
func NewUndoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "undo (RESOURCE NAME | RESOURCE/NAME)",
		GroupID: command.GroupWrite,
		Short:   "Write an object as it was before its last change, and show the differences first",
		Long: `Write an object as it was before its last change, or with --to as it was at a past moment. The gateway needs --history-dir.

The command shows the differences from the present object, and asks. Without a terminal it needs --yes. The write has the present
resourceVersion as its precondition: a change of another client meanwhile is a conflict, and nothing is written. A second undo undoes the first.

A change of the status alone is passed over, because a controller writes the status again. An object that was deleted is created again,
without uid, resourceVersion, creationTimestamp, generation, managedFields, deletionTimestamp, status, and ownerReferences. An object that the
last change has created is deleted.

If the last change is not recorded, because it happened in a gap or before the history begins, the command says so, and writes nothing.
Values of Secrets are redacted in the differences.

Exit codes: 0 written, unchanged, or --dry-run; 1 refused or failed; 2 wrong command line.`,
		Example: `  revtail undo deploy/web -n shop
  revtail undo configmap web --to 4711 --dry-run
  revtail undo cm/web --to 02:10 --yes`,
	}
	u := &undoer{}
	set := cmd.Flags()
	u.sources.Options.Key = redaction.NewKey()
	set.Var(&u.to, "to", "write the state at this `moment` instead: "+historyapi.MomentUsage)
	set.BoolVarP(&u.yes, "yes", "y", false, "do not ask")
	set.BoolVar(&u.dryRun, "dry-run", false, "change nothing, and print the differences on the standard output")
	set.StringVar(&u.manager, "field-manager", "revtail-undo", "`name` that owns the fields that change")
	u.addFlags(cmd)
	cmd.ValidArgsFunction = completion.Objects(&u.gateway, nil)
	cmd.RunE = command.AnyArgs(u.run)
	return cmd
}

func (u *undoer) run(cmd *cobra.Command, args []string) error {
	if err := u.checkFlags(cmd, args); err != nil {
		return usageError(cmd, "%w", err)
	}
	colored := cmd.ErrOrStderr()
	if u.dryRun {
		colored = cmd.OutOrStdout()
	}
	if err := u.connect(cmd, colored); err != nil {
		return err
	}
	defer u.client.Close()
	targets, err := client.Targets(u.resources, args)
	if err != nil {
		return usageError(cmd, "%w", err)
	}
	u.ref = ref{resource: targets[0].Resource, name: targets[0].Names[0]}
	if u.resource.Namespaced {
		u.namespace = u.client.Namespace()
	}
	live, err := u.get(cmd.Context(), u.path())
	if err != nil {
		return fmt.Errorf("%s: %w", u.full(), err)
	}
	past, err := u.past(cmd.Context(), live)
	if err != nil {
		return fmt.Errorf("%s: %w", u.full(), err)
	}
	if past == nil && live != nil {
		return u.remove(cmd, live)
	}
	content, owners, err := manifest.Restored(past, live)
	if err != nil {
		return fmt.Errorf("%s: %w", u.full(), err)
	}
	if live == nil {
		delete(content, "status")
	}
	return u.replace(cmd, replacement{live: live, content: content, owners: owners, dryRun: u.dryRun})
}

// checkFlags reads the arguments and flags as far as that is possible without the gateway.
func (u *undoer) checkFlags(cmd *cobra.Command, args []string) error {
	if err := client.CheckObject(cmd.CommandPath(), args); err != nil {
		return err
	}
	switch {
	case u.manager == "":
		return errors.New("--field-manager is empty: want a name, as revtail-undo")
	case !u.yes && !u.dryRun && !command.CanAsk(cmd):
		return errors.New("there is no terminal to ask: want --yes, or --dry-run to see the differences")
	}
	return nil
}

// past returns the object that is written; nil: it did not exist.
func (u *undoer) past(ctx context.Context, live json.RawMessage) (past json.RawMessage, err error) {
	if u.to.IsZero() {
		past, err = u.beforeLast(ctx, live)
	} else {
		past, err = u.at(ctx, live)
	}
	if err == nil && past != nil && redaction.IsRedacted(past) {
		err = errors.New("the gateway redacts its values, and such a Secret cannot be written")
	}
	return past, err
}

// beforeLast returns the object before its last change; nil: the change has created it.
func (u *undoer) beforeLast(ctx context.Context, live json.RawMessage) (past json.RawMessage, err error) {
	revision := int64(0)
	if live != nil {
		if revision, err = revisionOf(live); err != nil {
			return nil, err
		}
	}
	last, err := historyapi.ReadLast(ctx, u.client, historyapi.Query{Resource: u.resource, Namespace: u.namespace, Name: u.name})
	if err != nil {
		return nil, err
	}
	if past, err = last.Before(revision); err != nil || past == nil {
		return past, err
	}
	before, err := revisionOf(past)
	u.from = "revision " + strconv.FormatInt(before, 10)
	return past, err
}

func revisionOf(object json.RawMessage) (int64, error) {
	m, err := metaOf(object)
	if err != nil {
		return 0, err
	}
	revision, err := strconv.ParseInt(m.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resourceVersion %q: want a revision of etcd", m.Metadata.ResourceVersion)
	}
	return revision, nil
}

// at returns the object as it was at --to.
func (u *undoer) at(ctx context.Context, live json.RawMessage) (json.RawMessage, error) {
	u.from = u.to.String()
	if u.to.Revision != 0 {
		u.from = "revision " + u.from
	}
	_, past, err := u.send(ctx, http.MethodGet, u.path(), url.Values{"at": {u.to.Query()}}, "", nil)
	switch {
	case client.HasCode(err, http.StatusNotFound) && live == nil:
		return nil, fmt.Errorf("it does not exist now, and did not exist at %s", u.to)
	case client.HasCode(err, http.StatusNotFound):
		return nil, fmt.Errorf("it did not exist at %s: 'revtail delete %s' deletes it", u.to, u.full())
	case client.HasCode(err, http.StatusGone):
		return nil, fmt.Errorf("the state at %s is not known: 'revtail history %s' says what is recorded: %w", u.to, u.full(), err)
	}
	return past, err
}

// remove deletes an object that the last change has created.
func (u *undoer) remove(cmd *cobra.Command, live json.RawMessage) error {
	m, err := metaOf(live)
	if err != nil {
		return err
	}
	u.from = "/dev/null"
	out := cmd.ErrOrStderr()
	if u.dryRun {
		out = cmd.OutOrStdout()
	}
	if _, err := u.showChange(out, live, nil); err != nil {
		return err
	}
	if u.dryRun {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s deleted (dry run)\n", u.ref)
		return err
	}
	if !u.yes {
		if goOn, failed := command.Ask(cmd, fmt.Sprintf("The last change has created %s. Delete it?", u.full())); failed != nil || !goOn {
			return failed
		}
	}
	body, err := json.Marshal(map[string]any{
		"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": map[string]string{"uid": m.Metadata.UID, "resourceVersion": m.Metadata.ResourceVersion},
	})
	if err != nil {
		return err
	}
	if _, _, err := u.send(cmd.Context(), http.MethodDelete, u.path(), nil, "application/json", body); err != nil {
		return fmt.Errorf("%s: %w", u.full(), err)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s deleted\n", u.ref)
	return err
}
