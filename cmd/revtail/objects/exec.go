package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"revtail/cmd/revtail/client"
)

// execGrace is the time that the command of --exec has to end after SIGINT.
const execGrace = 5 * time.Second

// execute runs the command of --exec for an event. A nonzero exit status of the command does not end the watch.
func (w *watcher) execute(ctx context.Context, e client.Event) error {
	child := exec.CommandContext(ctx, "sh", "-c", w.exec)
	child.Stdin, child.Stdout, child.Stderr = bytes.NewReader(append(bytes.Clone(e.Object.JSON), '\n')), w.stdout, w.stderr
	child.Env = append(os.Environ(), "EVENT_TYPE="+e.Type, "EVENT_RESOURCE="+w.query.Resource.QualifiedName(),
		"EVENT_NAMESPACE="+e.Object.Namespace, "EVENT_NAME="+e.Object.Name, "EVENT_REVISION="+strconv.FormatInt(e.Object.Revision, 10))
	child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
	child.WaitDelay = execGrace
	err := child.Run()
	failed := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // a signal ends the watch
	case err == nil:
		return nil
	case errors.As(err, &failed):
		w.notice(fmt.Sprintf("--exec for %s: %v", w.query.Resource.ObjectName(e.Object.Name), err))
		return nil
	}
	return fmt.Errorf("--exec: %w", err)
}
