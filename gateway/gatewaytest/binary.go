package gatewaytest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// builder builds the program when a test first needs it.
var builder struct {
	once sync.Once
	dir  string // for the program; made and removed by Main
	path string
	err  error
}

// Main runs a package's tests, removes the built program and exits. Goroutines that the tests leave behind are a failure, except for those
// that the options name.
func Main(m *testing.M, options ...goleak.Option) {
	dir, err := os.MkdirTemp("", "revtail-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	builder.dir = dir
	goleak.VerifyTestMain(m, append(options, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}))...)
}

// Binary returns the path of the program: the file in REVTAIL_BINARY, or one that is built once for all tests of the package, with the race
// detector if the tests have it.
func Binary(tb testing.TB) string {
	tb.Helper()
	if path := os.Getenv("REVTAIL_BINARY"); path != "" {
		return path
	}
	builder.once.Do(build)
	if builder.err != nil {
		tb.Fatal(builder.err)
	}
	return builder.path
}

func build() {
	if builder.dir == "" {
		builder.err = fmt.Errorf("gatewaytest: TestMain does not call Main")
		return
	}
	ctx := context.Background() //nolint:forbidigo // the program outlives the test that builds it
	root, err := moduleRoot(ctx)
	if err != nil {
		builder.err = err
		return
	}
	args := []string{"build", "-buildvcs=false", "-o", builder.dir} // tests compare the version
	if RaceDetector() {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/revtail")...)
	cmd.Dir = root // because another module's go.sum lacks dependencies of the program
	if output, err := cmd.CombinedOutput(); err != nil {
		builder.err = fmt.Errorf("%v: %w\n%s", cmd, err, output)
	}
	builder.path = filepath.Join(builder.dir, "revtail")
}

// moduleRoot returns the folder of the main module, also for tests in another module.
func moduleRoot(ctx context.Context) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "revtail")
	root, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("%v: %w", list, err)
	}
	return strings.TrimSpace(string(root)), nil
}

// RaceDetector reports whether the tests run under the race detector.
func RaceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, setting := range info.Settings {
		if setting.Key == "-race" {
			return setting.Value == "true"
		}
	}
	return false
}
