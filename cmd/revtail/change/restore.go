package change

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
	"revtail/cmd/revtail/manifest"
	"revtail/cmd/revtail/source"
	"revtail/encoding"
	"revtail/etcdstore/redaction"
)

// restorer is one run of the command restore.
type restorer struct {
	session
	ref

	sources source.Set
	from    string
	manager string
	apply   bool
	yes     bool
}

// NewRestoreCommand returns the command restore.
func NewRestoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "restore (RESOURCE NAME | RESOURCE/NAME) --from SOURCE",
		GroupID: command.GroupWrite,
		Short:   "Print an object of a snapshot or of a past revision as a manifest, or write it back",
		Long: `Print an object as a snapshot, a stopped etcd or a past revision has it, as a manifest that can be applied, or write it back with --apply.
To restore a whole etcd, use 'revtail snapshot restore'.

--from is a source of 'revtail diff': backup.db, backup.db@4711, live@4711 or https://HOST@4711.

The manifest has no fields that the server sets: uid, resourceVersion, creationTimestamp, generation, managedFields, deletionTimestamp,
status; nor ownerReferences, with a warning: they name the uid of an owner, and the garbage collector deletes an object whose owner does not exist
any more. Nor does a Job have the selector and the labels that were generated for its uid.

--apply shows the differences from the object of the server first, and asks on a terminal. An object that exists is replaced, at
its resourceVersion: fields that were added since are removed, and a change of another client meanwhile is a conflict, with which nothing is
written. It keeps its uid and its ownerReferences. One that does not exist is created. A status is restored where it is an ordinary field, in custom resources without
that subresource. The definition of a custom resource must exist: restore it first.

A Secret with redacted values is neither printed nor written: --redact none reads the values.

Exit codes: 0 printed, written or unchanged; 1 refused or failed; 2 wrong command line.`,
		Example: `  revtail restore deploy/web -n shop --from backup.db > web.yaml
  revtail restore configmap web --from live@4711 --apply
  revtail restore secret/tls -n shop --from backup.db --redact none --apply --context my-cluster`,
	}
	r := &restorer{}
	set := cmd.Flags()
	set.StringVar(&r.from, "from", "", "`source` of the object: the file of a snapshot, live or the URL of a server, with a revision after an @")
	set.BoolVar(&r.apply, "apply", false, "write the object to the server, and show the differences first")
	set.BoolVarP(&r.yes, "yes", "y", false, "do not ask")
	set.StringVar(&r.manager, "field-manager", "revtail-restore", "`name` that owns the fields that change")
	r.sources.AddFlags(cmd)
	r.addFlags(cmd)
	cmd.ValidArgsFunction = completion.Objects(&r.gateway, nil)
	cmd.RunE = command.MaxArgs(2, r.run)
	return cmd
}

func (r *restorer) run(cmd *cobra.Command, args []string) error {
	from, err := r.check(cmd, args)
	if err != nil {
		return usageError(cmd, "%w", err)
	}
	r.sources.Gateway, r.sources.Stderr = &r.gateway, cmd.ErrOrStderr()
	defer r.sources.Close()
	if err := r.open(cmd); err != nil {
		return err
	}
	defer r.client.Close()
	old, err := r.read(cmd, from, args)
	if err != nil {
		return err
	}
	if !r.apply {
		return r.print(cmd, old)
	}
	return r.write(cmd, old)
}

// check reads the arguments and flags as far as that is possible without the source.
func (r *restorer) check(cmd *cobra.Command, args []string) (from source.Name, err error) {
	switch err = client.CheckObject(cmd.CommandPath(), args); {
	case err != nil:
		return from, err
	case r.from == "":
		return from, errors.New("--from is missing: want the source of the object, as --from backup.db")
	case r.manager == "":
		return from, errors.New("--field-manager is empty: want a name, as revtail-restore")
	case r.yes && !r.apply:
		return from, errors.New("--yes has no effect without --apply")
	}
	if from, err = source.ParseName(r.from); err != nil {
		return from, fmt.Errorf("--from: %w", err)
	}
	return from, r.sources.Options.Check()
}

// open makes the client of the server, and sends no request without --apply.
func (r *restorer) open(cmd *cobra.Command) (err error) {
	if r.apply {
		return r.connect(cmd, cmd.ErrOrStderr())
	}
	if r.client, err = client.New(r.gateway); err != nil {
		return command.UsageError(err)
	}
	return nil
}

// read reads the object from the source, in a version that the server serves if that is known, and sets r.ref.
func (r *restorer) read(cmd *cobra.Command, from source.Name, args []string) (json.RawMessage, error) {
	s, err := r.sources.Open(cmd.Context(), from)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	targets, err := client.Targets(s.Resources, args)
	if err != nil {
		return nil, usageError(cmd, "--from %s: %w", from.Text, err)
	}
	r.ref = ref{resource: targets[0].Resource, name: targets[0].Names[0]}
	if r.apply {
		if r.resource, err = r.served(s.Resources); err != nil {
			return nil, err
		}
	}
	if r.resource.Namespaced {
		r.namespace = r.client.Namespace()
	}
	o, err := s.Get(cmd.Context(), client.Query{Resource: r.resource, Namespace: r.namespace, Name: r.name})
	switch {
	case err != nil:
		return nil, fmt.Errorf("--from: %w", err)
	case o == nil:
		return nil, fmt.Errorf("%s does not exist in %s", r.full(), from.Text)
	case redaction.IsRedacted(o.JSON) && r.sources.Options.Redacts():
		return nil, fmt.Errorf("%s: the values are redacted, and such a Secret cannot be restored: --redact none reads the values", r.full())
	case redaction.IsRedacted(o.JSON):
		return nil, fmt.Errorf("%s: the server of %s redacts the values, and such a Secret cannot be restored: want the file itself, or a server that shows them", r.full(), from.Text)
	}
	return o.JSON, nil
}

// served returns the resource in a version that the source and the server serve.
func (r *restorer) served(ofSource []client.Resource) (client.Resource, error) {
	var versions []string
	for _, live := range r.resources {
		if live.QualifiedName() != r.resource.QualifiedName() {
			continue
		}
		versions = append(versions, live.APIVersion())
		for _, s := range ofSource {
			if s.QualifiedName() == live.QualifiedName() && s.Version == live.Version {
				return live, nil
			}
		}
	}
	name := r.resource.QualifiedName()
	if len(versions) > 0 {
		return client.Resource{}, fmt.Errorf("the server serves %s only as %s, and the source does not: print the manifest without --apply, and change it", name, strings.Join(versions, ", "))
	}
	return client.Resource{}, fmt.Errorf("the server serves no %s: restore their definition first: revtail restore crd/%s --from %s --apply", name, name, r.from)
}

// print prints the manifest.
func (r *restorer) print(cmd *cobra.Command, old json.RawMessage) error {
	content, owners, err := manifest.Restored(old, nil)
	if err != nil {
		return err
	}
	delete(content, "status")
	if err := r.warnOwners(cmd, owners); err != nil {
		return err
	}
	text, err := encoding.Marshal(content)
	if err == nil {
		text, err = encoding.YAML(text)
	}
	if err == nil {
		_, err = cmd.OutOrStdout().Write(text)
	}
	return err
}

func (r *restorer) warnOwners(cmd *cobra.Command, owners []string) error {
	if len(owners) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "Warning: %s: the ownerReferences are left out: %s may not exist any more with the same uid\n", r.full(), command.Printable(strings.Join(owners, ", ")))
	return err
}

// write writes the object over that of the server.
func (r *restorer) write(cmd *cobra.Command, old json.RawMessage) error {
	live, err := r.get(cmd.Context(), r.path())
	if err != nil {
		return fmt.Errorf("%s: %w", r.full(), err)
	}
	content, owners, err := manifest.Restored(old, live)
	if err != nil {
		return fmt.Errorf("%s: %w", r.full(), err)
	}
	return r.replace(cmd, replacement{live: live, content: content, owners: owners})
}

// replacement is an object that is written over another one.
type replacement struct {
	live    json.RawMessage // nil: it does not exist
	content map[string]any
	owners  []string // that the content lacks
	dryRun  bool
}

// replace shows the differences, asks, and writes the object.
func (r *restorer) replace(cmd *cobra.Command, with replacement) error {
	body, err := encoding.MarshalValue(with.content)
	if err != nil {
		return err
	}
	ctx, exists, word := cmd.Context(), with.live != nil, "unchanged"
	_, result, err := r.put(ctx, exists, body, true)
	if err != nil {
		return fmt.Errorf("%s: %w", r.full(), err)
	}
	if err := r.warnOwners(cmd, with.owners); err != nil {
		return err
	}
	out, suffix := cmd.ErrOrStderr(), ""
	if with.dryRun {
		out, suffix = cmd.OutOrStdout(), " (dry run)"
	}
	different, err := r.showChange(out, with.live, result)
	if err != nil {
		return err
	}
	if different {
		if word = "replaced"; !exists {
			word = "created"
		}
	}
	if different && !with.dryRun {
		if !r.yes && command.CanAsk(cmd) {
			if goOn, failed := command.Ask(cmd, fmt.Sprintf("Write %s?", r.full())); failed != nil || !goOn {
				return failed
			}
		}
		if _, _, err := r.put(ctx, exists, body, false); err != nil {
			return fmt.Errorf("%s: %w", r.full(), err)
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s%s\n", r.ref, word, suffix)
	return err
}

// put replaces or creates the object.
func (r *restorer) put(ctx context.Context, exists bool, body []byte, dryRun bool) (code int, result json.RawMessage, err error) {
	query := url.Values{"fieldManager": {r.manager}}
	if dryRun {
		query.Set("dryRun", "All")
	}
	if exists {
		return r.send(ctx, http.MethodPut, r.path(), query, "application/json", body)
	}
	return r.send(ctx, http.MethodPost, r.resource.Path(r.namespace), query, "application/json", body)
}
