package envtest

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// timeout is the longest run of a package.
const timeout = "10m"

// workplace is where a suite runs.
type workplace struct {
	suite
	sources, logs string         // folders
	anew          *regexp.Regexp // what to run; the results of the rest are those of the logs

	dir string // of the suite, in sources
}

// runsOn reports whether the suite runs on a server, or counts as it ended last.
func (w *workplace) runsOn(s server) bool { return w.anew.MatchString(w.name + " on " + s.name) }

// prepare copies the suite and builds its tests, so that no run waits for the compiler.
func (w *workplace) prepare(t *testing.T, servers ...server) {
	t.Helper()
	if !slices.ContainsFunc(servers, w.runsOn) {
		return
	}
	if err := os.MkdirAll(w.logs, 0o700); err != nil {
		t.Fatal(err)
	}
	w.dir = w.source(t, w.sources)
	command := w.goTest(t, append([]string{"-run=^$", "-exec=true"}, w.packages...)...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", w.name, err, output)
	}
}

// run runs the suite on a server, one package after the other. A package with a test that fails runs once more, and counts as it then ends,
// because some tests assume a machine that does nothing else.
func (w *workplace) run(t *testing.T, on server) result {
	t.Helper()
	anew := w.runsOn(on)
	first, second := filepath.Join(w.logs, w.name+"-"+on.name+".json"), filepath.Join(w.logs, w.name+"-"+on.name+"-again.json")
	if anew {
		w.try(t, on, first, w.packages)
	}
	results := readLog(t, first)
	var failed []string
	for path, r := range results {
		if len(r.failed) > 0 {
			failed = append(failed, path)
		}
	}
	if len(failed) == 0 {
		return sum(results)
	}
	if anew {
		slices.Sort(failed)
		w.try(t, on, second, failed)
	}
	maps.Copy(results, readLog(t, second))
	return sum(results)
}

// try runs packages, and writes the output to a log.
func (w *workplace) try(t *testing.T, on server, log string, packages []string) {
	t.Helper()
	output, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	command := w.goTest(t, append([]string{"-json", "-count=1", "-p=1", "-timeout=" + timeout}, packages...)...)
	command.Stdout, command.Stderr = output, output
	command.Env = append(os.Environ(), "KUBEBUILDER_ASSETS="+on.assets)
	err = command.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		err = nil // tests have failed
	}
	if err = errors.Join(err, output.Close()); err != nil {
		t.Fatalf("%v: %v; see %s", command, err, log)
	}
}

// goTest returns a command that tests packages of the suite. Suites find files of theirs by the paths that the compiler records.
func (w *workplace) goTest(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", append([]string{"test", "-vet=off", "-trimpath=false"}, arguments...)...)
	command.Dir = w.dir
	return command
}

// readLog returns the results of packages by their paths.
func readLog(t *testing.T, log string) map[string]result {
	t.Helper()
	file, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only read
	results, err := readEvents(file)
	if err != nil || len(results) == 0 {
		t.Fatalf("%s: %v, %d packages", log, err, len(results))
	}
	return results
}
