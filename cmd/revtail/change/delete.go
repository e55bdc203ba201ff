package change

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
)

// cascades are the values of --cascade, with the propagation policies of the API.
var cascades = map[string]string{"background": "Background", "foreground": "Foreground", "orphan": "Orphan"}

// deleter is one run of the command delete.
type deleter struct {
	session
	files          fileFlags
	selector       string
	fieldSelector  string
	all            bool
	allNamespaces  bool
	cascade        string
	wait           bool
	timeout        time.Duration
	yes            bool
	dryRun         bool
	ignoreNotFound bool
}

// NewDeleteCommand returns the command delete.
func NewDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delete (RESOURCE NAME… | RESOURCE/NAME… | RESOURCE -l SELECTOR | -f FILE)",
		GroupID: command.GroupWrite,
		Short:   "Delete objects, and wait until they are gone",
		Long: `Delete objects by name, by selector or those of files, and wait until they are gone.

On a terminal the command lists more than one object first, and asks. An object with finalizers is gone when their owners have removed
them: the command says which finalizers it waits for.

--cascade says what becomes of objects that an object owns: background deletes them after it, foreground before it, orphan keeps them.

Exit codes: 0 deleted; 1 an object does not exist, was refused, or is not gone after --timeout; 2 wrong command line.`,
		Example: `  revtail delete configmap web
  revtail delete cm/web deploy/web -n shop
  revtail delete pods -l app=web --dry-run
  revtail delete -f deploy/ -R --cascade foreground --timeout 1m`,
	}
	d := &deleter{}
	set := cmd.Flags()
	d.files.addFlags(set)
	set.StringVarP(&d.selector, "selector", "l", "", "`labels` of the objects, as app=web,tier!=back")
	set.StringVar(&d.fieldSelector, "field-selector", "", "`fields` of the objects, as metadata.name=web or spec.nodeName=node-1")
	set.BoolVar(&d.all, "all", false, "all objects of the resource in the namespace")
	set.BoolVarP(&d.allNamespaces, "all-namespaces", "A", false, "with -l, --field-selector or --all: in all namespaces")
	set.StringVar(&d.cascade, "cascade", "background", "what becomes of owned objects: background, foreground or orphan")
	set.BoolVar(&d.wait, "wait", true, "wait until the objects are gone")
	set.DurationVar(&d.timeout, "timeout", 0, "`time` to wait, as 30s; 0: as long as it takes")
	set.BoolVarP(&d.yes, "yes", "y", false, "do not ask")
	set.BoolVar(&d.dryRun, "dry-run", false, "delete nothing, and print what would be deleted")
	set.BoolVar(&d.ignoreNotFound, "ignore-not-found", false, "an object that does not exist is no error")
	d.addFlags(cmd)
	cmd.ValidArgsFunction = completion.Objects(&d.gateway, nil)
	completion.Values(cmd, "cascade", slices.Sorted(maps.Keys(cascades))...)
	cmd.RunE = command.AnyArgs(d.run)
	return cmd
}

func (d *deleter) run(cmd *cobra.Command, args []string) error {
	if err := d.check(cmd, args); err != nil {
		return err
	}
	if err := d.connect(cmd, cmd.OutOrStdout()); err != nil {
		return err
	}
	defer d.client.Close()
	victims, err := d.victims(cmd, args)
	if err != nil {
		return err
	}
	if len(victims) == 0 {
		_, err = fmt.Fprintln(cmd.ErrOrStderr(), "revtail: no objects match: nothing is deleted")
		return err
	}
	if goOn, failed := d.confirm(cmd, victims); failed != nil || !goOn {
		return failed
	}
	return d.deleteAll(cmd, victims)
}

// deleteAll deletes objects, and waits until they are gone. It goes on after an error.
func (d *deleter) deleteAll(cmd *cobra.Command, victims []victim) error {
	ctx := cmd.Context()
	if d.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.timeout)
		defer cancel()
	}
	var errs []error
	var waiting []victim
	for _, v := range victims {
		gone, err := d.delete(ctx, &v)
		switch {
		case d.ignoreNotFound && v.uid == "" && client.HasCode(err, http.StatusNotFound):
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s does not exist\n", v.ref)
		case err != nil:
		case gone || d.dryRun:
			err = d.report(cmd, v, "deleted")
		case d.wait:
			waiting = append(waiting, v)
		default:
			err = d.report(cmd, v, "deletion has begun")
		}
		errs = append(errs, err)
	}
	for _, v := range waiting {
		err := d.await(ctx, v)
		if err == nil {
			err = d.report(cmd, v, "deleted")
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// check refuses arguments and flags that make no sense together.
func (d *deleter) check(cmd *cobra.Command, args []string) error {
	selects := d.selector != "" || d.fieldSelector != "" || d.all
	hasNames := len(args) > 1 || len(args) == 1 && strings.Contains(args[0], "/")
	switch {
	case cascades[d.cascade] == "":
		return usageError(cmd, "--cascade %q: want background, foreground or orphan", d.cascade)
	case d.timeout < 0:
		return usageError(cmd, "--timeout %v: want a time, as 30s, or 0 for as long as it takes", d.timeout)
	case len(d.files.names) > 0 && (len(args) > 0 || selects):
		return usageError(cmd, "-f names the objects: leave out the arguments, --selector, --field-selector and --all")
	case len(d.files.names) > 0:
		return nil
	case d.all && (d.selector != "" || d.fieldSelector != ""):
		return usageError(cmd, "--all is every object, and --selector selects some: leave one of them out")
	case hasNames && selects:
		return usageError(cmd, "names and --selector, --field-selector or --all are given: leave one of them out")
	case d.allNamespaces && !selects:
		return usageError(cmd, "--all-namespaces is for --selector, --field-selector and --all: want the namespace of an object that is named, with --namespace")
	case len(args) == 1 && !hasNames && !selects:
		return usageError(cmd, "no object of %s is named: want a name, as %s %s web, or -l SELECTOR, or --all", args[0], cmd.CommandPath(), args[0])
	}
	if err := client.CheckSelectors(d.selector, d.fieldSelector); err != nil {
		return usageError(cmd, "%w", err)
	}
	if err := client.CheckArgs(args); err != nil {
		return usageError(cmd, "%w", err)
	}
	return nil
}

// confirm lists more than one object on a terminal, and asks.
func (d *deleter) confirm(cmd *cobra.Command, victims []victim) (bool, error) {
	if len(victims) == 1 || d.yes || d.dryRun || !command.CanAsk(cmd) {
		return true, nil
	}
	var out bytes.Buffer
	for _, v := range victims {
		fmt.Fprintf(&out, "%s\n", v.full())
	}
	if _, err := cmd.ErrOrStderr().Write(out.Bytes()); err != nil {
		return false, err
	}
	return command.Ask(cmd, fmt.Sprintf("Delete these %d objects, for good?", len(victims)))
}

// delete requests the deletion of an object. gone reports whether it is gone already; if it is not, v gets its UID.
func (d *deleter) delete(ctx context.Context, v *victim) (gone bool, err error) {
	options := map[string]any{"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": cascades[d.cascade]}
	if v.uid != "" {
		options["preconditions"] = map[string]string{"uid": v.uid}
	}
	if d.dryRun {
		options["dryRun"] = []string{"All"} // in the query it would have no effect beside a body
	}
	body, err := json.Marshal(options)
	if err != nil {
		return false, err
	}
	_, answer, err := d.send(ctx, http.MethodDelete, v.path(), nil, "application/json", body)
	if client.HasCode(err, http.StatusNotFound) && v.uid != "" {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", v.full(), err)
	}
	var read struct{ Kind string }
	if err := json.Unmarshal(answer, &read); err != nil {
		return false, err
	}
	if read.Kind == "Status" { // the gateway answers with the object if finalizers keep it
		return true, nil
	}
	m, err := metaOf(answer)
	v.uid = m.Metadata.UID
	return false, err
}

func (d *deleter) report(cmd *cobra.Command, v victim, word string) error {
	if d.dryRun {
		word += " (dry run)"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", v.ref, word)
	return err
}
