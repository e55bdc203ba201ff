package conformance

import (
	"flag"
	"os"
	"testing"

	"revtail/gateway/gatewaytest"
)

var (
	baseFlag = flag.String("base", "", "URL of a running server to try; none: the program is built and started")
	etcdFlag = flag.String("etcd", "", "URL of the etcd behind -base, which will be compacted")
	longFlag = flag.Bool("long", false, "try the statements that take more than a minute, too")
)

// concurrency is the number of statements that run at once. They mostly wait for the server's own time limits, so the number of processors,
// the default of go test, does not matter.
const concurrency = "16"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", concurrency); err != nil {
		panic(err)
	}
	gatewaytest.Main(m)
}

// group is a part of the protocol.
type group struct {
	name       string
	serial     bool // one after the other, before all others, because they would disturb them
	statements []statement
}

// statement is one promise and the function that tests it.
type statement struct {
	promise string
	try     func(*check)
}

var groups = []group{
	{name: "paths", statements: paths},
	{name: "lists", statements: lists},
	{name: "revisions", statements: revisions},
	{name: "pages", statements: pages},
	{name: "selectors", statements: selectors},
	{name: "media types", statements: mediaTypes},
	{name: "tables", statements: tables},
	{name: "encodings", statements: encodings},
	{name: "watches", statements: watches},
	{name: "watch starts", statements: watchStarts},
	{name: "watch forms", statements: watchForms},
	{name: "transitions", statements: transitions},
	{name: "watch lists", statements: watchLists},
	{name: "creates", statements: creates},
	{name: "bad creates", statements: badCreates},
	{name: "validation", statements: validations},
	{name: "updates", statements: updates},
	{name: "status and scale", statements: subresources},
	{name: "patches", statements: patches},
	{name: "apply", statements: applies},
	{name: "deletes", statements: deletes},
	{name: "finalizers", statements: finalizers},
	{name: "delete collections", statements: deleteCollections},
	{name: "owners", statements: owners},
	{name: "resources", serial: true, statements: resources},
	{name: "compaction", serial: true, statements: compactions},
}

// TestConformance tests the built-in kinds, on the server of -base or on revtail with an embedded etcd.
func TestConformance(t *testing.T) {
	tryAll(t, findServer(t), builtin)
}

// TestConformanceExternalEtcd tests the same on revtail with an etcd in another process.
func TestConformanceExternalEtcd(t *testing.T) {
	if *baseFlag != "" {
		t.Skip("not run: -base names the server under test")
	}
	tryAll(t, startWithExternalEtcd(t), builtin)
}

// TestConformanceCustomResources tests a kind of a CustomResourceDefinition.
func TestConformanceCustomResources(t *testing.T) {
	server := findServer(t)
	if reason := declareWidgets(t, server); reason != "" {
		t.Skip("not run: " + reason)
	}
	tryAll(t, server, custom)
}

// tryAll tests every statement and prints the table.
func tryAll(t *testing.T, s *server, c cast) {
	t.Helper()
	results := report{verdicts: map[string]verdict{}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		results.print(os.Stdout, t.Name()+": "+c.name+" on "+s.name)
	})
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			if !g.serial {
				t.Parallel()
			}
			for _, statement := range g.statements {
				t.Run(statement.promise, func(t *testing.T) {
					if !g.serial {
						t.Parallel()
					}
					name := g.name + "/" + statement.promise
					results.add(name, newCheck(t, s, c).judge(name, statement.try))
				})
			}
		})
	}
}
