package envtest

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

var (
	folder = flag.String("suites", "", "run the suites, which takes half an hour, in this `folder`, and rewrite "+document)
	anew   = flag.String("anew", ".", "what to run, a regular expression of names as \"gatekeeper on revtail\"; the rest counts as it ended last in the folder")
)

func TestMain(m *testing.M) { gatewaytest.Main(m) }

// TestSuites runs the suites on both servers and rewrites the document. It fails if a test passes on a kube-apiserver only and no reason is
// known.
func TestSuites(t *testing.T) {
	if *folder == "" {
		t.Skip("`make envtest` runs the suites")
	}
	chosen, err := regexp.Compile(*anew)
	if err != nil {
		t.Fatal(err)
	}
	cluster, revtail := servers(t)
	var found outcome
	for _, s := range suites {
		w := workplace{suite: s, sources: filepath.Join(*folder, "src"), logs: filepath.Join(*folder, "logs"), anew: chosen}
		w.prepare(t, cluster, revtail)
		c := comparison{suite: s, cluster: w.run(t, cluster), revtail: w.run(t, revtail)}
		t.Logf("%s: kube-apiserver: %v; revtail: %v", s.name, c.cluster, c.revtail)
		for _, test := range without(c.revtail.failed, c.cluster.failed) {
			if _, known := reason(s.name, test); !known {
				t.Errorf("%s passes on kube-apiserver only: %s", s.name, test)
			}
		}
		found = append(found, c)
	}
	file, err := os.Create(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := found.write(file); err != nil {
		t.Error(err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

// TestReadEvents checks how tests and specs of Ginkgo are counted.
func TestReadEvents(t *testing.T) {
	const output = `# a line of the build
{"Action":"output","Package":"x/one","Test":"TestAPIs","Output":"\u001b[1mRan 5 of 5 Specs\n"}
{"Action":"output","Package":"x/one","Test":"TestAPIs","Output":"  \u001b[38;5;9m[FAIL]\u001b[0m Client \u001b[1m[It] should read\u001b[0m\n"}
{"Action":"output","Package":"x/one","Test":"TestAPIs","Output":"FAIL! -- \u001b[32m4 Passed\u001b[0m | 1 Failed | 0 Pending | 0 Skipped\n"}
{"Action":"fail","Package":"x/one","Test":"TestAPIs","Elapsed":2}
{"Action":"pass","Package":"x/one","Test":"TestTable/a"}
{"Action":"fail","Package":"x/one","Test":"TestTable/b"}
{"Action":"fail","Package":"x/one","Test":"TestTable"}
{"Action":"skip","Package":"x/one","Test":"TestSkipped"}
{"Action":"fail","Package":"x/one","Elapsed":2.5}
{"Action":"fail","Package":"x/panics","Elapsed":1}
{"Action":"pass","Package":"x/none","Elapsed":0.5}
`
	packages, err := readEvents(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	got := sum(packages)
	want := []string{"x/one: Client should read", "x/one: TestTable/b", "x/panics: the package as a whole"}
	if got.passed != 5 || !slices.Equal(got.failed, want) || got.elapsed != 4*time.Second {
		t.Errorf("got %+v, want 5 that pass, and %q, in 4 s", got, want)
	}
}

// TestDocument checks the table and the lists.
func TestDocument(t *testing.T) {
	o := outcome{{
		suite:   suite{name: "s", module: "m@v1", about: "what it is", packages: []string{"./..."}},
		cluster: result{passed: 9, failed: []string{"b"}, elapsed: 20 * time.Second},
		revtail: result{passed: 8, failed: []string{"a", "b"}, elapsed: 10 * time.Second},
	}}
	text := &strings.Builder{}
	if err := o.write(text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| s | 10 | 9 | 8 | 20 s | 10 s |", "## What passes on kube-apiserver only\n\nThe reason is not known yet (1):\n\n- `s a`\n",
		"## What passes on revtail only\n\nNothing.\n", "## What passes on neither\n\nThe reason is not known yet (1):\n\n- `s b`\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}
