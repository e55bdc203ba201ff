// Package reload reads files again when they change: by an editor, a program such as certbot, or a new symbolic link, as in a ConfigMap
// or Secret that Kubernetes mounts.
package reload

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// pollInterval is the interval of reading a file of some KiB. Polling works on all file systems, events do not.
const pollInterval = 2 * time.Second

// Source is the path of a file, and the flag that gives it.
type Source struct{ Flag, Path string }

// File has the last valid content of a file, or of several files that belong together. It is safe for concurrent use.
type File[T any] struct {
	flags, paths string // of the sources, for messages
	sources      []Source
	parse        func(contents [][]byte) (T, error)
	logger       *slog.Logger
	current      atomic.Pointer[T]
	generation   atomic.Uint64
	metrics      [2]*prometheus.Desc // whether the last reload was successful, and failures

	reported atomic.Bool  // the rejection was logged
	failures atomic.Int64 // number of logged rejections

	mu        sync.Mutex        // held while the files are read; guards the fields below
	used      [sha256.Size]byte // digest of current
	rejection rejection         // of the present contents; zero: current has them
}

// rejection is the reason why contents are invalid. Equal contents have equal rejections.
type rejection struct {
	digest [sha256.Size]byte
	reason string
}

// Open reads the file that a flag names. Errors name both.
func Open[T any](flag, path string, parse func([]byte) (T, error), logger *slog.Logger) (*File[T], error) {
	return OpenTogether([]Source{{flag, path}}, func(contents [][]byte) (T, error) {
		made, err := parse(contents[0])
		if err != nil {
			return made, fmt.Errorf("%s %s: %w", flag, path, err)
		}
		return made, nil
	}, logger)
}

// OpenTogether reads files that parse turns into one value; it gets their contents in the order of the sources. The error of an
// unreadable file names its flag; errors of parse are unchanged.
func OpenTogether[T any](sources []Source, parse func(contents [][]byte) (T, error), logger *slog.Logger) (*File[T], error) {
	f := &File[T]{sources: sources, parse: parse, logger: logger}
	var flags, paths []string
	for _, s := range sources {
		flags, paths = append(flags, s.Flag), append(paths, s.Path)
	}
	f.flags, f.paths = strings.Join(flags, ","), strings.Join(paths, ",")
	f.SetMetrics("revtail_file_last_reload_successful", "revtail_file_reload_failures_total", "the file of the flag", prometheus.Labels{"flag": f.flags})
	contents, err := f.read()
	if err != nil {
		return nil, err
	}
	first, err := f.parse(contents)
	if err != nil {
		return nil, err
	}
	f.current.Store(&first)
	f.used = digest(contents)
	return f, nil
}

// Get returns the parsed content.
func (f *File[T]) Get() T { return *f.current.Load() }

// Generation returns a number that changes with each new content. Get returns at least the content of an earlier Generation.
func (f *File[T]) Generation() uint64 { return f.generation.Load() }

// Run checks the files every few seconds until ctx ends. It logs invalid contents when it sees them for the second time, because a
// write may be in progress, and several files are rarely replaced at once.
func (f *File[T]) Run(ctx context.Context) error {
	for tick := time.Tick(pollInterval); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
			f.check(false)
		}
	}
}

// Reload checks the files now, and logs invalid contents at once.
func (f *File[T]) Reload() { f.check(true) }

// check reads the files. complete means that no write is in progress.
func (f *File[T]) check(complete bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	contents, err := f.read()
	found := digest(contents)
	if err == nil && found == f.used {
		f.acceptLocked(found)
		return
	}
	var next T
	if err == nil {
		next, err = f.parse(contents)
	}
	if err != nil {
		f.rejectLocked(rejection{found, err.Error()}, complete)
		return
	}
	f.current.Store(&next)
	f.generation.Add(1)
	f.acceptLocked(found)
	f.logger.Info("a file has changed and is in use", "flag", f.flags, "file", f.paths)
}

func (f *File[T]) acceptLocked(found [sha256.Size]byte) {
	f.used, f.rejection = found, rejection{}
	f.reported.Store(false)
}

func (f *File[T]) rejectLocked(found rejection, complete bool) {
	again := found == f.rejection
	if !again {
		f.rejection = found
		f.reported.Store(false)
	}
	if complete || again && !f.reported.Load() {
		f.reported.Store(true)
		f.failures.Add(1)
		f.logger.Warn("a file has changed but cannot be used: what it said before stays in use", "flag", f.flags, "reason", found.reason)
	}
}

// read reads all files. With an error, it returns the contents of the readable ones.
func (f *File[T]) read() (contents [][]byte, err error) {
	var errs []error
	for _, s := range f.sources {
		content, err := os.ReadFile(s.Path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Flag, err))
		}
		contents = append(contents, content)
	}
	return contents, errors.Join(errs...)
}

// digest identifies contents, so that private keys need not stay in memory for the comparison.
func digest(contents [][]byte) [sha256.Size]byte {
	var all []byte
	for _, content := range contents {
		sum := sha256.Sum256(content)
		all = append(all, sum[:]...)
	}
	return sha256.Sum256(all)
}

// SetMetrics names the metrics, of which File is a collector, and their subject. It is called before they are collected.
func (f *File[T]) SetMetrics(successful, failures, subject string, labels prometheus.Labels) {
	f.metrics[0] = prometheus.NewDesc(successful,
		fmt.Sprintf("0 while the content of %s is invalid, so that the content before it stays in use; else 1.", subject), nil, labels)
	f.metrics[1] = prometheus.NewDesc(failures, fmt.Sprintf("How often the content of %s was invalid.", subject), nil, labels)
}

var _ prometheus.Collector = (*File[int])(nil)

// Describe implements prometheus.Collector.
func (f *File[T]) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- f.metrics[0]
	descriptions <- f.metrics[1]
}

// Collect implements prometheus.Collector.
func (f *File[T]) Collect(out chan<- prometheus.Metric) {
	value := 1.0
	if f.reported.Load() {
		value = 0
	}
	out <- prometheus.MustNewConstMetric(f.metrics[0], prometheus.GaugeValue, value)
	out <- prometheus.MustNewConstMetric(f.metrics[1], prometheus.CounterValue, float64(f.failures.Load()))
}
