package envtest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// result is the outcome of a suite, or of a package, on a server.
type result struct {
	passed  int
	failed  []string // names, without repetition
	elapsed time.Duration
}

func (r result) tests() int { return r.passed + len(r.failed) }

// event is a line of `go test -json`.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// pkg collects the events of a package.
type pkg struct {
	output  map[string]*strings.Builder // by test; those of the package itself are under the empty name
	actions map[string]string           // the last one: pass, fail or skip
	elapsed float64
}

// readEvents returns the results of packages from the output of `go test -json`.
func readEvents(r io.Reader) (map[string]result, error) {
	packages := map[string]*pkg{}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		e := event{}
		if json.Unmarshal(line, &e) == nil && e.Package != "" { // other lines are about the build
			if packages[e.Package] == nil {
				packages[e.Package] = &pkg{output: map[string]*strings.Builder{}, actions: map[string]string{}}
			}
			packages[e.Package].add(e)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	results := map[string]result{}
	for path, p := range packages {
		results[path] = p.result(path)
	}
	return results, nil
}

func (p *pkg) add(e event) {
	switch e.Action {
	case "output":
		if p.output[e.Test] == nil {
			p.output[e.Test] = &strings.Builder{}
		}
		p.output[e.Test].WriteString(e.Output)
	case "pass", "fail", "skip":
		p.actions[e.Test] = e.Action
		if e.Test == "" {
			p.elapsed = e.Elapsed
		}
	}
}

var (
	colour   = regexp.MustCompile(`\x1b\[[0-9;]*m`)
	summary  = regexp.MustCompile(`(\d+) Passed \| (\d+) Failed \|`)
	specLine = regexp.MustCompile(`(?m)^ *\[(?:FAIL|PANICKED!|TIMEDOUT|INTERRUPTED)\] (.+)$`)
)

// result counts the tests without subtests, and the specs of Ginkgo, all of which run in one test.
func (p *pkg) result(path string) result {
	r := result{elapsed: time.Duration(p.elapsed * float64(time.Second))}
	failed := map[string]bool{}
	folders := strings.Split(path, "/")
	short := strings.Join(folders[max(len(folders)-2, 0):], "/")
	name := func(test string) string { return short + ": " + test }
	for test, action := range p.actions {
		if test == "" || action == "skip" || p.hasSubtests(test) {
			continue
		}
		passed, specs, isGinkgo := p.specs(test)
		switch {
		case isGinkgo:
			r.passed += passed
			for _, spec := range specs {
				failed[name(spec)] = true
			}
		case action == "pass":
			r.passed++
		default:
			failed[name(test)] = true
		}
	}
	if p.actions[""] == "fail" && len(failed) == 0 {
		failed[name("the package as a whole")] = true
	}
	r.failed = slices.Sorted(maps.Keys(failed))
	return r
}

func (p *pkg) hasSubtests(test string) bool {
	for other := range p.actions {
		if strings.HasPrefix(other, test+"/") {
			return true
		}
	}
	return false
}

// specs returns how many specs of Ginkgo have passed in a test, and the names of those that have failed.
func (p *pkg) specs(test string) (passed int, failed []string, isGinkgo bool) {
	if p.output[test] == nil {
		return 0, nil, false
	}
	text := colour.ReplaceAllString(p.output[test].String(), "")
	for _, counts := range summary.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(counts[1]) // the expression has digits only
		passed, isGinkgo = passed+n, true
	}
	for _, line := range specLine.FindAllStringSubmatch(text, -1) {
		failed = append(failed, strings.ReplaceAll(line[1], "[It] ", ""))
	}
	return passed, failed, isGinkgo
}

// sum adds the results of packages.
func sum(packages map[string]result) result {
	var total result
	for _, r := range packages {
		total.passed += r.passed
		total.failed = append(total.failed, r.failed...)
		total.elapsed += r.elapsed
	}
	slices.SortFunc(total.failed, cmp.Compare[string])
	return total
}

func (r result) String() string {
	return fmt.Sprintf("%d of %d tests pass in %v", r.passed, r.tests(), r.elapsed.Round(time.Second))
}
