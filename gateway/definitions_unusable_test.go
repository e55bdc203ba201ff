package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

// warnings is a handler that keeps the warnings, each as a line of its message and its attributes.
type warnings struct {
	mu    sync.Mutex // guards the field below
	lines []string
}

func (*warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line)
	return nil
}

func (w *warnings) WithAttrs([]slog.Attr) slog.Handler { return w }

func (w *warnings) WithGroup(string) slog.Handler { return w }

// about returns the number of warnings that have a text.
func (w *warnings) about(text string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// unlistable is a store that refuses to list a prefix, as if the gateway's role in etcd lacked the permission.
type unlistable struct {
	etcdstore.Store
	prefix string
}

func (s unlistable) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	if strings.HasPrefix(prefix, s.prefix) {
		return etcdstore.Page{}, etcdstore.ErrDenied
	}
	return s.Store.List(ctx, prefix, o)
}

// TestUnreadableResourceDelaysNoOther checks that a definition with unreadable objects does not keep later ones from being served.
func TestUnreadableResourceDelaysNoOther(t *testing.T) {
	store := memory.New()
	log := new(warnings)
	s := serveLogged(t, store, Options{Store: unlistable{store, "/registry/example.com/widgets/"}, Logger: slog.New(log)})
	s.must(http.StatusCreated, http.MethodPost, crds, asJSON(t, widgetsDefinition))
	s.define(otherOfAnotherKind)
	if s.served(widgets) || !s.served("/apis/example.com/v1/gadgets") {
		t.Error("the definition that cannot be read is served, or the other is not")
	}
	if conditions := s.conditions("widgets.example.com"); conditions["Established"] == "True" {
		t.Errorf("the definition that cannot be read is established: %v", conditions)
	}
	if n := log.about("name=widgets.example.com"); n != 1 {
		t.Errorf("%d warnings name the definition, want 1", n)
	}
}

// TestUnusableChangeKeepsWhatIsServed checks that a changed definition that cannot be used, because another program wrote it, takes nothing
// away: neither what it defined before nor other definitions.
func TestUnusableChangeKeepsWhatIsServed(t *testing.T) {
	const key = "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com"
	for name, change := range map[string]struct{ old, new string }{
		"cannot be parsed":     {"served: true", "served: perhaps"},
		"has no usable schema": {"color: {type: string", "color: {$ref: x, type: string"},
	} {
		t.Run(name, func(t *testing.T) {
			store, log := memory.New(), new(warnings)
			s := serveLogged(t, store, Options{Store: store, Logger: slog.New(log)})
			s.define(widgetsDefinition)
			s.must(http.StatusCreated, http.MethodPost, widgets, widget("one", `{}`))
			put := func(manifest string) {
				kv, _, err := store.Get(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := store.Update(t.Context(), key, []byte(asJSON(t, manifest)), kv.Modified); err != nil {
					t.Fatal(err)
				}
			}
			put(strings.Replace(widgetsDefinition, change.old, change.new, 1))
			await(t, "a warning", func() bool { return log.about("name=widgets.example.com") > 0 })
			s.define(otherOfAnotherKind)
			if !s.served(widgets+"/one") || !s.served("/apis/example.com/v1/gadgets") {
				t.Error("the definition before the change is not served, or the other is not")
			}
			s.must(http.StatusCreated, http.MethodPost, widgets, widget("two", `{}`))

			put(strings.Replace(widgetsDefinition, "max: {type: integer}", "max: {type: integer, default: 9}", 1))
			await(t, "the next change to be in use", func() bool { return strings.Contains(s.get(widgets+"/one").body, `"max":9`) })
			s.deleteDefinition("widgets.example.com")
			await(t, "the definition not to be served", func() bool { return !s.served(widgets) })
		})
	}
}

// otherOfAnotherKind is a definition that no other one is in conflict with.
var otherOfAnotherKind = strings.NewReplacer("kind: Widget", "kind: Gadget").Replace(otherOfTheSameKind)
