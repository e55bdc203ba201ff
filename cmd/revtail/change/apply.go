package change

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/manifest"
)

// applier is one run of the command apply or diff.
type applier struct {
	session
	files   fileFlags
	manager string
	force   bool
	yes     bool
	dryRun  bool
}

// NewApplyCommand returns the command apply.
func NewApplyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "apply -f FILE|FOLDER|URL|-",
		GroupID: command.GroupWrite,
		Short:   "Create objects, or change the fields that files have, and show the differences first",
		Long: `Create the objects of files, or change the fields that the files have, by server-side apply.

The command shows what the gateway would make of each object, as lines that differ, on the standard error output. On a terminal it then
asks. If one of the objects is refused, none is applied. If an object is refused after that, because another client has changed it
meanwhile, or because its definition is in the same files and had to be applied first, the command stops, and says which objects are
applied and which are not.

A field that another manager owns, and that has another value in the file, is a conflict: the command names the field and the manager.
--force-conflicts takes the field over. Values of Secrets are not shown.

Exit codes: 0 applied, or nothing to do, or --dry-run; 1 refused or failed; 2 wrong command line. revtail diff has an exit code for
differences.`,
		Example: `  revtail apply -f web.yaml
  revtail apply -f deploy/ -R --yes
  sed s/red/blue/ web.yaml | revtail apply -f - --dry-run`,
	}
	a := &applier{}
	set := cmd.Flags()
	a.files.addFlags(set)
	set.StringVar(&a.manager, "field-manager", "revtail", "`name` that owns the fields of the files")
	set.BoolVar(&a.force, "force-conflicts", false, "take over fields that other managers own")
	set.BoolVarP(&a.yes, "yes", "y", false, "do not ask")
	set.BoolVar(&a.dryRun, "dry-run", false, "change nothing, and print what would change on the standard output")
	a.addFlags(cmd)
	cmd.RunE = a.withoutArgs(a.apply)
	return cmd
}

// withoutArgs is a RunE of cobra: files are given with -f.
func (a *applier) withoutArgs(run func(*cobra.Command) error) func(*cobra.Command, []string) error {
	return command.AnyArgs(func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError(cmd, "unexpected argument %q: want, for example, %s -f %s", args[0], cmd.CommandPath(), args[0])
		}
		return run(cmd)
	})
}

func (a *applier) apply(cmd *cobra.Command) error {
	changes, err := a.plan(cmd)
	if err != nil {
		return err
	}
	defer a.client.Close()
	if a.dryRun {
		return a.showDryRun(cmd, changes)
	}
	if err := a.show(cmd.ErrOrStderr(), changes); err != nil {
		return err
	}
	if n := countDifferent(changes); n > 0 && !a.yes && command.CanAsk(cmd) {
		if goOn, err := command.Ask(cmd, fmt.Sprintf("Change %d of %d objects?", n, len(changes))); err != nil || !goOn {
			return err
		}
	}
	for i, c := range changes {
		word, err := a.write(cmd.Context(), c)
		if err != nil {
			return stopped(err, changes, i)
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", c.ref, word); err != nil {
			return err
		}
	}
	return nil
}

func (a *applier) showDryRun(cmd *cobra.Command, changes []change) error {
	if err := a.show(cmd.OutOrStdout(), changes); err != nil {
		return err
	}
	for _, c := range changes {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s (dry run)\n", c.ref, c.word()); err != nil {
			return err
		}
	}
	return nil
}

// stopped is the error of the i-th object: it names the objects that are not applied.
func stopped(err error, changes []change, i int) error {
	if len(changes) == 1 {
		return err
	}
	var rest strings.Builder
	for _, c := range changes[i:] {
		fmt.Fprintf(&rest, "\n  %s (%s)", c.full(), c.document.Source)
	}
	return fmt.Errorf("%w\n%d of %d objects are applied; not applied:%s", err, i, len(changes), rest.String())
}

// applyType is the media type of a server-side apply.
const applyType = "application/apply-patch+yaml"

func (a *applier) query(dryRun bool) url.Values {
	out := url.Values{"fieldManager": {a.manager}, "fieldValidation": {"Strict"}}
	if a.force {
		out.Set("force", "true")
	}
	if dryRun {
		out.Set("dryRun", "All")
	}
	return out
}

// write applies an object, and returns what has become of it.
func (a *applier) write(ctx context.Context, c change) (word string, err error) {
	if c.resource.Plural == "" {
		if c.resource, err = a.awaitResource(ctx, c.document); err != nil {
			return "", err
		}
		if c.ref, err = a.place(c.document, c.resource); err != nil {
			return "", err
		}
	}
	code, result, err := a.send(ctx, http.MethodPatch, c.path(), a.query(false), applyType, c.document.JSON)
	if err != nil {
		return "", explainConflict(c.full(), fmt.Errorf("%s (%s): %w", c.full(), c.document.Source, err))
	}
	if code == http.StatusCreated {
		return "created", nil
	}
	same, err := isSame(c.live, result)
	if same {
		return "unchanged", err
	}
	return "configured", err
}

const (
	// definitionTimeout bounds the time from the creation of a definition until the gateway serves its resource.
	definitionTimeout = 30 * time.Second
	definitionPoll    = 200 * time.Millisecond
)

// awaitResource waits until the gateway serves the resource that a definition before the document has made.
func (a *applier) awaitResource(ctx context.Context, d manifest.Document) (found resource, err error) {
	ctx, cancel := context.WithTimeout(ctx, definitionTimeout)
	defer cancel()
	for {
		if err = a.discover(ctx); err == nil {
			if found, err = a.find(d); err == nil {
				return found, nil
			}
		}
		select {
		case <-time.After(definitionPoll):
		case <-ctx.Done():
			return found, errors.Join(fmt.Errorf("the gateway does not serve %s of %s, whose definition was created %v ago", d.Kind, d.APIVersion, definitionTimeout), err)
		}
	}
}
