package filter

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/lru"

	"revtail/encoding/projection"
)

// Cache compiles the filters and projections that clients send. Clients that send equal texts share one value, so that an event is
// filtered once for all of them. It is safe for concurrent use.
type Cache struct {
	objects, keys *Dialect

	objectFilters, keyFilters texts[Filter]
	objectFields, keyFields   texts[projection.Projection]
}

// alwaysShown are the fields of an object that every projection keeps, because a client needs them to identify the object and to resume.
var alwaysShown = []string{"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.resourceVersion"}

// NewCache returns an empty cache.
func NewCache() *Cache {
	c := &Cache{objects: Objects(), keys: Keys()}
	c.objectFilters = newTexts(c.objects.Compile)
	c.keyFilters = newTexts(c.keys.Compile)
	c.objectFields = newTexts(func(text string) (*projection.Projection, error) { return projection.Parse(text, alwaysShown...) })
	c.keyFields = newTexts(func(text string) (*projection.Projection, error) {
		p, err := projection.Parse(text)
		if err != nil {
			return nil, err
		}
		return p.Within("value"), nil
	})
	return c
}

// Objects returns the filter of objects that a text says, nil for an empty text. The error is a *SyntaxError.
func (c *Cache) Objects(text string) (*Filter, error) { return c.objectFilters.get(text) }

// Keys returns the filter of keys that a text says, nil for an empty text. The error is a *SyntaxError.
func (c *Cache) Keys(text string) (*Filter, error) { return c.keyFilters.get(text) }

// ObjectFields returns the projection of objects that a text says, nil for an empty text. The error is a *SyntaxError.
func (c *Cache) ObjectFields(text string) (*projection.Projection, error) {
	return c.objectFields.get(text)
}

// KeyFields returns the projection of a key's value that a text says, nil for an empty text. The error is a *SyntaxError.
func (c *Cache) KeyFields(text string) (*projection.Projection, error) { return c.keyFields.get(text) }

// Collectors count how often filters were compiled and evaluated.
func (c *Cache) Collectors() (out []prometheus.Collector) {
	for name, d := range map[string]*Dialect{"objects": c.objects, "keys": c.keys} {
		counter := func(metric, help string, value func() uint64) {
			out = append(out, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: metric, Help: help, ConstLabels: prometheus.Labels{"of": name}},
				func() float64 { return float64(value()) }))
		}
		counter("revtail_filters_compiled_total", "Filters that were compiled: equal ones once.", d.compiled.Load)
		counter("revtail_filter_evaluations_total",
			"Evaluations of filters: one for each state of an event and distinct filter, whatever the number of watches.", d.evaluated.Load)
	}
	return out
}

// SyntaxError is an error in a text that a client sent.
type SyntaxError struct{ err error }

func (e *SyntaxError) Error() string { return e.err.Error() }

// maxTexts is how many compiled texts of a kind are kept. The least recently used goes first; watches that use it keep it.
const maxTexts = 512

// texts maps texts to their compiled form.
type texts[T any] struct {
	compile func(text string) (*T, error)

	mu    sync.Mutex // guards that a text has one entry
	known *lru.Cache // from texts to func() (*T, error)
}

func newTexts[T any](compile func(text string) (*T, error)) texts[T] {
	return texts[T]{compile: compile, known: lru.New(maxTexts)}
}

// get compiles a text once, without holding the lock: others do not wait for an expensive text.
func (t *texts[T]) get(text string) (*T, error) {
	if text == "" {
		return nil, nil
	}
	value, err := t.entry(text)()
	if err != nil {
		t.known.Remove(text)
		return nil, &SyntaxError{err}
	}
	return value, nil
}

func (t *texts[T]) entry(text string) func() (*T, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if entry, ok := t.known.Get(text); ok {
		return entry.(func() (*T, error))
	}
	entry := sync.OnceValues(func() (*T, error) { return t.compile(text) })
	t.known.Add(text, entry)
	return entry
}
