// Package reload keeps in memory what a file says, while the file is replaced: by an editor, by a program, or by the swap of a
// symbolic link as Kubernetes does it in a mounted ConfigMap.
package reload

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// pollInterval is how often a file is read: some KiB, of which nothing happens when they are as they were. Events of the file
// system would come sooner, but not from every file system.
const pollInterval = 2 * time.Second

// File holds what a file said when it last made sense. It is safe for concurrent use.
type File[T any] struct {
	flag, path string
	parse      func([]byte) (T, error)
	logger     *slog.Logger
	current    atomic.Pointer[T]
	generation atomic.Uint64
	metrics    metrics

	mu       sync.Mutex        // guards the fields below
	used     [sha256.Size]byte // the digest of current
	trouble  trouble           // with what the file holds; zero: it holds what is used
	reported bool              // the trouble is in the log
	failures int               // troubles reported
}

// trouble is why contents cannot be used. It is the same trouble as long as the contents are the same.
type trouble struct {
	digest [sha256.Size]byte
	reason string
}

// Open reads the file that a flag names. Errors name both.
func Open[T any](flag, path string, parse func([]byte) (T, error), logger *slog.Logger) (*File[T], error) {
	f := &File[T]{flag: flag, path: path, parse: parse, logger: logger, metrics: newMetrics(flag)}
	content, err := f.read()
	if err != nil {
		return nil, err
	}
	first, err := f.make(content)
	if err != nil {
		return nil, err
	}
	f.current.Store(&first)
	f.used = sha256.Sum256(content)
	return f, nil
}

// Get is what the file says.
func (f *File[T]) Get() T { return *f.current.Load() }

// Generation is another number each time that the file says something new; what Get returns then is at least as new.
func (f *File[T]) Generation() uint64 { return f.generation.Load() }

// Run looks at the file every few seconds until ctx ends. What does not make sense is reported when it is seen a second time:
// it may have been read while it was written.
func (f *File[T]) Run(ctx context.Context) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			f.look(false)
		}
	}
}

// Reload looks at the file now, and reports at once what does not make sense: somebody says that it is complete.
func (f *File[T]) Reload() { f.look(true) }

func (f *File[T]) look(complete bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, err := f.read()
	digest := sha256.Sum256(content)
	if err == nil && digest == f.used {
		f.trouble, f.reported = trouble{}, false
		return
	}
	var next T
	if err == nil {
		next, err = f.make(content)
	}
	if err != nil {
		f.refuseLocked(trouble{digest, err.Error()}, complete)
		return
	}
	f.current.Store(&next)
	f.generation.Add(1)
	f.used, f.trouble, f.reported = digest, trouble{}, false
	f.logger.Info("a file has changed and is in use", "flag", f.flag, "file", f.path)
}

func (f *File[T]) refuseLocked(found trouble, complete bool) {
	again := found == f.trouble
	if !again {
		f.trouble, f.reported = found, false
	}
	if complete || again && !f.reported {
		f.reported = true
		f.failures++
		f.logger.Warn("a file has changed but cannot be used: what it said before stays in use", "flag", f.flag, "reason", found.reason)
	}
}

func (f *File[T]) read() ([]byte, error) {
	content, err := os.ReadFile(f.path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.flag, err)
	}
	return content, nil
}

func (f *File[T]) make(content []byte) (T, error) {
	made, err := f.parse(content)
	if err != nil {
		return made, fmt.Errorf("%s %s: %w", f.flag, f.path, err)
	}
	return made, nil
}
