// Package reload keeps in memory what files say, while they are replaced: by an editor, by a program as certbot, or by the swap of
// a symbolic link as Kubernetes does it in a mounted ConfigMap or Secret.
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
)

// pollInterval is how often a file is read: some KiB, of which nothing happens when they are as they were. Events of the file
// system would come sooner, but not from every file system.
const pollInterval = 2 * time.Second

// Source is the path of a file, and the flag that gives it.
type Source struct{ Flag, Path string }

// File holds what a file, or some that make sense together only, said when they last made sense. It is safe for concurrent use.
type File[T any] struct {
	flags, paths string // of the sources, for messages
	sources      []Source
	parse        func(contents [][]byte) (T, error)
	logger       *slog.Logger
	current      atomic.Pointer[T]
	generation   atomic.Uint64
	metrics      metrics

	mu       sync.Mutex        // guards the fields below
	used     [sha256.Size]byte // the digest of current
	trouble  trouble           // with what is there; zero: it is what is used
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
	return OpenTogether([]Source{{flag, path}}, func(contents [][]byte) (T, error) {
		made, err := parse(contents[0])
		if err != nil {
			return made, fmt.Errorf("%s %s: %w", flag, path, err)
		}
		return made, nil
	}, logger)
}

// OpenTogether reads files of which parse makes one thing; it gets their contents in the order of the sources. Errors name the
// flag of a file that cannot be read; those of parse are as they are.
func OpenTogether[T any](sources []Source, parse func(contents [][]byte) (T, error), logger *slog.Logger) (*File[T], error) {
	f := &File[T]{sources: sources, parse: parse, logger: logger}
	var flags, paths []string
	for _, s := range sources {
		flags, paths = append(flags, s.Flag), append(paths, s.Path)
	}
	f.flags, f.paths = strings.Join(flags, ","), strings.Join(paths, ",")
	f.metrics = newMetrics(f.flags)
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

// Get is what the files say.
func (f *File[T]) Get() T { return *f.current.Load() }

// Generation is another number each time that they say something new; what Get returns then is at least as new.
func (f *File[T]) Generation() uint64 { return f.generation.Load() }

// Health says whether what is there is what is used, and how often it was found not to be.
func (f *File[T]) Health() (ok bool, failures int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.reported, f.failures
}

// Run looks at the files every few seconds until ctx ends. What does not make sense is reported when it is seen a second time: it
// may have been read while it was written, and several files are seldom replaced all at once.
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

// Reload looks at the files now, and reports at once what does not make sense: somebody says that they are complete.
func (f *File[T]) Reload() { f.look(true) }

func (f *File[T]) look(complete bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	contents, err := f.read()
	found := digest(contents)
	if err == nil && found == f.used {
		f.trouble, f.reported = trouble{}, false
		return
	}
	var next T
	if err == nil {
		next, err = f.parse(contents)
	}
	if err != nil {
		f.refuseLocked(trouble{found, err.Error()}, complete)
		return
	}
	f.current.Store(&next)
	f.generation.Add(1)
	f.used, f.trouble, f.reported = found, trouble{}, false
	f.logger.Info("a file has changed and is in use", "flag", f.flags, "file", f.paths)
}

func (f *File[T]) refuseLocked(found trouble, complete bool) {
	again := found == f.trouble
	if !again {
		f.trouble, f.reported = found, false
	}
	if complete || again && !f.reported {
		f.reported = true
		f.failures++
		f.logger.Warn("a file has changed but cannot be used: what it said before stays in use", "flag", f.flags, "reason", found.reason)
	}
}

// read reads all files. It gives what it could read also with an error.
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

// digest is different for different contents. Keys among them need not be kept to be compared.
func digest(contents [][]byte) [sha256.Size]byte {
	var all []byte
	for _, content := range contents {
		sum := sha256.Sum256(content)
		all = append(all, sum[:]...)
	}
	return sha256.Sum256(all)
}
