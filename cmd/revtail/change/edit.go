package change

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
	"revtail/cmd/revtail/diff"
	"revtail/cmd/revtail/manifest"
)

// editor is one run of the command edit.
type editor struct {
	session
	manager       string
	subresource   string
	managedFields bool
	dryRun        bool

	ref
	file editorFile
}

// NewEditCommand returns the command edit.
func NewEditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "edit (RESOURCE NAME | RESOURCE/NAME)",
		GroupID: command.GroupWrite,
		Short:   "Change an object in an editor, and show the differences",
		Long: `Change an object in an editor, as YAML, and show the lines that differ.

The editor is REVTAIL_EDITOR, VISUAL or EDITOR, else vi. The object is written only if it is still at the revision that the editor had.
If another client has changed it meanwhile, or if the gateway refuses it, the editor opens again with your text and the reason above it.
To give up, leave the editor without a change: the command prints the path of the file with your text.

Exit codes: 0 written, or no changes made, or --dry-run; 1 refused, failed or given up; 2 wrong command line.`,
		Example: `  revtail edit configmap web
  revtail edit deploy/web -n shop --subresource status
  EDITOR='code --wait' revtail edit cm/web
  EDITOR='sed -i s/red/blue/' revtail edit cm/web --dry-run`,
	}
	e := &editor{}
	set := cmd.Flags()
	set.StringVar(&e.subresource, "subresource", "", "`name` of a subresource to change instead of the object, as status or scale")
	set.BoolVar(&e.managedFields, "show-managed-fields", false, "show metadata.managedFields too")
	set.StringVar(&e.manager, "field-manager", "revtail-edit", "`name` that owns the fields that change")
	set.BoolVar(&e.dryRun, "dry-run", false, "write nothing: show the differences, and whether the gateway accepts them")
	e.addFlags(cmd)
	cmd.ValidArgsFunction = completion.Objects(&e.gateway, nil)
	completion.Values(cmd, "subresource", "status", "scale")
	cmd.RunE = command.MaxArgs(2, e.run)
	return cmd
}

func (e *editor) run(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && !strings.Contains(args[0], "/") {
		return usageError(cmd, "no object of %s is named: want, for example, %s %s/web", args[0], cmd.CommandPath(), args[0])
	}
	if err := client.CheckArgs(args); err != nil {
		return usageError(cmd, "%w", err)
	}
	if len(args) == 2 && strings.Contains(args[0], "/") {
		return usageError(cmd, "two objects are named, %s and %s: want one", args[0], args[1])
	}
	if err := e.connect(cmd, cmd.OutOrStdout()); err != nil {
		return err
	}
	defer e.client.Close()
	targets, err := client.Targets(e.resources, args)
	if err != nil {
		return usageError(cmd, "%w", err)
	}
	e.ref = ref{resource: targets[0].Resource, name: targets[0].Names[0]}
	if e.resource.Namespaced {
		e.namespace = e.client.Namespace()
	}
	live, err := e.read(cmd.Context())
	if err != nil {
		return err
	}
	e.file = editorFile{name: strings.ReplaceAll(e.String(), "/", "-")}
	defer e.file.remove()
	return e.edit(cmd, live)
}

func (e *editor) objectPath() string {
	if e.subresource != "" {
		return e.path() + "/" + url.PathEscape(e.subresource)
	}
	return e.path()
}

func (e *editor) read(ctx context.Context) (json.RawMessage, error) {
	object, err := e.get(ctx, e.objectPath())
	if err == nil && object == nil {
		err = fmt.Errorf("%s does not exist", e.full())
		if e.subresource != "" {
			err = fmt.Errorf("%s does not exist, or has no subresource %q", e.full(), e.subresource)
		}
	}
	return object, err
}

// edit opens the editor until the object is written, or the user gives up.
func (e *editor) edit(cmd *cobra.Command, live json.RawMessage) error {
	shown, err := e.toText(live)
	if err != nil {
		return err
	}
	text, reason := shown, error(nil)
	for {
		saved, err := e.file.open(cmd, e.heading(reason), text)
		if err != nil {
			return err
		}
		if saved.isEmpty || !saved.changed && reason == nil || bytes.Equal(saved.text, shown) {
			e.file.keep = false
			_, err = fmt.Fprintln(cmd.ErrOrStderr(), "Edit cancelled, no changes made.")
			return err
		}
		e.file.keep = true // it has work of the user
		isConflict := client.HasCode(reason, http.StatusConflict)
		if !saved.changed || reason != nil && !isConflict && bytes.Equal(saved.text, text) {
			return fmt.Errorf("edit cancelled, nothing is written: %w\nYour text is in %s", reason, e.file.path)
		}
		text = saved.text
		var edited json.RawMessage
		if edited, reason = e.parse(text, live); reason != nil {
			continue
		}
		if err := e.show(cmd, live, edited); err != nil {
			return err
		}
		if reason = e.write(cmd.Context(), edited); reason == nil {
			e.file.keep = false
			return e.report(cmd)
		}
		status := (*client.StatusError)(nil)
		if !errors.As(reason, &status) || status.Code == http.StatusForbidden || status.Code == http.StatusUnauthorized || status.Code >= http.StatusInternalServerError {
			return fmt.Errorf("%w\nYour text is in %s", reason, e.file.path)
		}
		if client.HasCode(reason, http.StatusConflict) {
			if live, reason = e.rebase(cmd.Context(), live, reason); live == nil {
				return fmt.Errorf("%w\nYour text is in %s", reason, e.file.path)
			}
		}
	}
}

// rebase reads the object again after a conflict. The reason has what others have changed. live is nil if there is no object.
func (e *editor) rebase(ctx context.Context, before json.RawMessage, conflict error) (live json.RawMessage, reason error) {
	live, err := e.read(ctx)
	if err != nil {
		return nil, errors.Join(conflict, err)
	}
	old, err := metaOf(before)
	if err != nil {
		return nil, err
	}
	now, err := metaOf(live)
	if err != nil {
		return nil, err
	}
	if old.Metadata.UID != now.Metadata.UID {
		return nil, fmt.Errorf("%s was deleted, and another object has its name now", e.full())
	}
	lines, err := diff.Objects(before, live)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	diff.Printer{}.Lines(&out, lines)
	return live, &client.StatusError{Code: http.StatusConflict, Message: fmt.Sprintf("another client has changed the object, from revision %s to %s:\n%s\nPut these changes into your text if you want to keep them: your text is written over them.\nDelete these lines to write it",
		old.Metadata.ResourceVersion, now.Metadata.ResourceVersion, strings.TrimRight(out.String(), "\n"))}
}

// heading is the comment above the text.
func (e *editor) heading(reason error) string {
	var out strings.Builder
	if reason == nil {
		fmt.Fprintf(&out, "# %s\n# Lines that begin with # are left out. An empty file, or no change, cancels.\n#\n", command.Printable(e.full()))
		return out.String()
	}
	out.WriteString("# Not written, because:\n")
	for line := range strings.Lines(reason.Error()) {
		fmt.Fprintf(&out, "#   %s\n", command.Printable(strings.TrimRight(line, "\n")))
	}
	out.WriteString("# To give up, leave the editor without a change.\n#\n")
	return out.String()
}

// toText is the object as the editor shows it.
func (e *editor) toText(object json.RawMessage) ([]byte, error) {
	if e.managedFields {
		return yaml.JSONToYAML(object)
	}
	content, err := manifest.DecodeObject(object)
	if err != nil {
		return nil, err
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(text)
}

// parse returns the object of a text. It has the revision of live, which the text may contradict, as precondition.
func (e *editor) parse(text []byte, live json.RawMessage) (json.RawMessage, error) {
	object, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))
	}
	content, err := manifest.DecodeObject(object)
	if err != nil || content == nil {
		return nil, errors.New("this is no object: want apiVersion, kind and metadata")
	}
	before, err := manifest.DecodeObject(live)
	if err != nil {
		return nil, err
	}
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return nil, errors.New("metadata is missing")
	}
	liveMetadata, _ := before["metadata"].(map[string]any)
	for _, field := range []struct {
		name      string
		have, was any
	}{
		{"apiVersion", content["apiVersion"], before["apiVersion"]}, {"kind", content["kind"], before["kind"]},
		{"metadata.name", metadata["name"], liveMetadata["name"]}, {"metadata.namespace", metadata["namespace"], liveMetadata["namespace"]},
	} {
		if field.have != field.was {
			return nil, fmt.Errorf("%s is %v and was %v: an edit cannot change it; use revtail apply for another object", field.name, field.have, field.was)
		}
	}
	metadata["resourceVersion"] = liveMetadata["resourceVersion"]
	if !e.managedFields {
		delete(metadata, "managedFields")
	}
	return json.Marshal(content)
}

func (e *editor) show(cmd *cobra.Command, live, edited json.RawMessage) error {
	lines, err := diff.Objects(live, edited)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	e.colors.Lines(&out, lines)
	_, err = cmd.OutOrStdout().Write(out.Bytes())
	return err
}

func (e *editor) write(ctx context.Context, object json.RawMessage) error {
	query := url.Values{"fieldManager": {e.manager}, "fieldValidation": {"Strict"}}
	if e.dryRun {
		query.Set("dryRun", "All")
	}
	_, _, err := e.send(ctx, http.MethodPut, e.objectPath(), query, "application/json", object)
	return err
}

func (e *editor) report(cmd *cobra.Command) error {
	word := "edited"
	if e.dryRun {
		word += " (dry run)"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", e.ref, word)
	return err
}
