package gateway_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport names, for each package of the module, the packages of the module that it may import. A package without a line fails, so that
// its position in the layout is decided first.
var mayImport = map[string][]string{
	"cmd/revtail":                     {"cmd/revtail/change", "cmd/revtail/command", "cmd/revtail/completion", "cmd/revtail/doctor", "cmd/revtail/envtest", "cmd/revtail/health", "cmd/revtail/history", "cmd/revtail/historydir", "cmd/revtail/keys", "cmd/revtail/manual", "cmd/revtail/memory", "cmd/revtail/objects", "cmd/revtail/open", "cmd/revtail/serve", "cmd/revtail/snapshot", "cmd/revtail/token", "cmd/revtail/top", "cmd/revtail/version", "etcdstore/embedded", "gateway/config/buildinfo"},
	"cmd/revtail/backend":             {"cmd/revtail/command", "etcdstore", "etcdstore/embedded", "gateway/config", "gateway/config/reload", "gateway/metrics"},
	"cmd/revtail/change":              {"cmd/revtail/client", "cmd/revtail/command", "cmd/revtail/compare", "cmd/revtail/completion", "cmd/revtail/diff", "cmd/revtail/history/historyapi", "cmd/revtail/manifest", "cmd/revtail/source", "encoding", "etcdstore/redaction"},
	"cmd/revtail/client":              {"gateway/config", "gateway/config/suggest"},
	"cmd/revtail/command":             {"gateway/config", "gateway/config/suggest"},
	"cmd/revtail/compare":             {"cmd/revtail/client", "cmd/revtail/command", "cmd/revtail/completion", "cmd/revtail/diff", "cmd/revtail/history/historyapi", "cmd/revtail/source"},
	"cmd/revtail/completion":          {"cmd/revtail/client", "cmd/revtail/command"},
	"cmd/revtail/diff":                {"cmd/revtail/command", "encoding", "etcdstore/redaction"},
	"cmd/revtail/doctor":              {"cmd/revtail/backend", "cmd/revtail/client", "cmd/revtail/command", "cmd/revtail/completion", "etcdstore", "etcdstore/encryption", "gateway/access/delegated", "gateway/api/discovery", "gateway/api/kinds", "gateway/api/upstream", "gateway/claim", "gateway/config", "gateway/config/buildinfo"},
	"cmd/revtail/envtest":             {"cmd/revtail/command"},
	"cmd/revtail/health":              {"cmd/revtail/client", "cmd/revtail/command", "gateway/config"},
	"cmd/revtail/history":             {"cmd/revtail/client", "cmd/revtail/command", "cmd/revtail/completion", "cmd/revtail/diff", "cmd/revtail/history/historyapi", "encoding", "etcdstore/redaction"},
	"cmd/revtail/history/historyapi":  {"cmd/revtail/client", "gateway/config"},
	"cmd/revtail/historydir":          {"cmd/revtail/command", "etcdstore", "etcdstore/archive", "etcdstore/journal", "gateway/config"},
	"cmd/revtail/keys":                {"cmd/revtail/client", "cmd/revtail/command", "cmd/revtail/completion", "cmd/revtail/diff", "cmd/revtail/keys/keyapi"},
	"cmd/revtail/keys/keyapi":         {"cmd/revtail/client"},
	"cmd/revtail/manifest":            {},
	"cmd/revtail/manual":              {"cmd/revtail/command", "gateway/config/buildinfo"},
	"cmd/revtail/memory":              {},
	"cmd/revtail/objects":             {"cmd/revtail/client", "cmd/revtail/command", "cmd/revtail/completion", "cmd/revtail/diff", "cmd/revtail/history/historyapi", "cmd/revtail/offline", "cmd/revtail/source", "gateway/config"},
	"cmd/revtail/offline":             {"cmd/revtail/completion", "cmd/revtail/memory", "etcdstore", "etcdstore/archive", "etcdstore/dbfile", "etcdstore/encryption", "etcdstore/journal", "etcdstore/readonly", "etcdstore/redaction", "gateway", "gateway/access/flowcontrol", "gateway/api/changes", "gateway/api/kinds", "gateway/claim", "gateway/config/buildinfo", "gateway/resource"},
	"cmd/revtail/open":                {"cmd/revtail/command", "cmd/revtail/offline", "cmd/revtail/serve/webserver", "gateway/claim", "gateway/config"},
	"cmd/revtail/serve":               {"cmd/revtail/backend", "cmd/revtail/command", "cmd/revtail/completion", "cmd/revtail/memory", "cmd/revtail/serve/logging", "cmd/revtail/serve/systemd", "cmd/revtail/serve/webserver", "etcdstore", "etcdstore/encryption", "etcdstore/journal", "etcdstore/journal/recorder", "etcdstore/monitor", "gateway", "gateway/access", "gateway/access/audit", "gateway/access/authentication", "gateway/access/authorization", "gateway/access/certificate", "gateway/access/delegated", "gateway/access/flowcontrol", "gateway/access/serviceaccount", "gateway/api/changes", "gateway/api/kinds", "gateway/api/upstream", "gateway/claim", "gateway/config", "gateway/config/buildinfo", "gateway/config/reload", "gateway/config/suggest", "gateway/metrics", "gateway/netio/stranger", "gateway/resource"},
	"cmd/revtail/serve/logging":       {"cmd/revtail/command", "gateway/config"},
	"cmd/revtail/serve/systemd":       {},
	"cmd/revtail/serve/webserver":     {"gateway/netio/http2", "gateway/netio/socket", "gateway/netio/stranger", "gateway/watch/transport"},
	"cmd/revtail/snapshot":            {"cmd/revtail/backend", "cmd/revtail/command", "cmd/revtail/completion", "etcdstore", "etcdstore/snapshot", "gateway/config"},
	"cmd/revtail/source":              {"cmd/revtail/client", "cmd/revtail/command", "cmd/revtail/offline", "etcdstore", "etcdstore/redaction", "gateway/config", "gateway/http/response"},
	"cmd/revtail/token":               {"cmd/revtail/command", "gateway/access/authentication"},
	"cmd/revtail/top":                 {"cmd/revtail/client", "cmd/revtail/command", "cmd/revtail/completion"},
	"cmd/revtail/version":             {"cmd/revtail/command", "etcdstore/embedded", "gateway/api/discovery", "gateway/config/buildinfo"},
	"encoding":                        {"encoding/jsontext"},
	"encoding/codec":                  {"encoding", "encoding/jsontext"},
	"encoding/gotype":                 {"encoding/jsontext"},
	"encoding/jsontext":               {},
	"encoding/patch":                  {"encoding", "encoding/codec", "encoding/jsontext"},
	"encoding/projection":             {"encoding/jsontext"},
	"encoding/protobuf":               {"encoding/codec", "encoding/gotype", "encoding/jsontext"},
	"etcdstore":                       {"etcdstore/rangestream", "etcdstore/zaplog"},
	"etcdstore/archive":               {"etcdstore", "etcdstore/journal", "etcdstore/readonly"},
	"etcdstore/dbfile":                {"etcdstore", "etcdstore/readonly"},
	"etcdstore/embedded":              {"etcdstore/zaplog"},
	"etcdstore/encryption":            {"etcdstore"},
	"etcdstore/journal":               {"etcdstore", "etcdstore/journal/delta"},
	"etcdstore/journal/delta":         {},
	"etcdstore/journal/recorder":      {"etcdstore", "etcdstore/journal"},
	"etcdstore/memory":                {"etcdstore"},
	"etcdstore/monitor":               {"etcdstore"},
	"etcdstore/rangestream":           {},
	"etcdstore/readonly":              {"etcdstore"},
	"etcdstore/redaction":             {"etcdstore"},
	"etcdstore/snapshot":              {"etcdstore/embedded"},
	"etcdstore/storetest":             {"etcdstore"},
	"etcdstore/zaplog":                {},
	"gateway":                         {"etcdstore", "gateway/access", "gateway/access/audit", "gateway/access/authentication", "gateway/access/authorization", "gateway/access/cputime", "gateway/access/flowcontrol", "gateway/access/serviceaccount", "gateway/api", "gateway/api/addresses", "gateway/api/admission", "gateway/api/apiservices", "gateway/api/catalog", "gateway/api/changes", "gateway/api/forms", "gateway/api/garbage", "gateway/api/informer", "gateway/api/mount", "gateway/api/quota", "gateway/api/servicecidrs", "gateway/api/storage", "gateway/api/upstream", "gateway/claim", "gateway/config/buildinfo", "gateway/config/reload", "gateway/console", "gateway/http/request", "gateway/http/response", "gateway/http/status", "gateway/keys", "gateway/keys/keyrange", "gateway/keys/timeline", "gateway/metrics", "gateway/middleware", "gateway/netio/socket", "gateway/resource", "gateway/watch", "gateway/watch/eventloop", "gateway/watch/transport", "gateway/watchcache/filter"},
	"gateway/access":                  {"gateway/access/audit", "gateway/access/authentication", "gateway/access/authorization", "gateway/access/cputime", "gateway/access/flowcontrol", "gateway/config/reload", "gateway/console", "gateway/http/request", "gateway/http/response", "gateway/http/status", "gateway/keys/keyrange", "gateway/netio/stranger", "gateway/resource"},
	"gateway/access/audit":            {},
	"gateway/access/authentication":   {"gateway/config/reload"},
	"gateway/access/authorization":    {},
	"gateway/access/cputime":          {},
	"gateway/access/certificate":      {"gateway/config/reload"},
	"gateway/access/delegated":        {"gateway/access", "gateway/access/authentication", "gateway/access/authorization", "gateway/http/status"},
	"gateway/access/flowcontrol":      {"etcdstore"},
	"gateway/access/serviceaccount":   {"gateway/access/authentication", "gateway/config/reload"},
	"gateway/api":                     {"encoding", "encoding/codec", "encoding/gotype", "encoding/protobuf", "etcdstore", "gateway/access", "gateway/access/flowcontrol", "gateway/access/serviceaccount", "gateway/api/apiservices", "gateway/api/catalog", "gateway/api/changes", "gateway/api/discovery", "gateway/api/forms", "gateway/api/garbage", "gateway/api/kinds", "gateway/api/object", "gateway/api/openapi", "gateway/api/pods", "gateway/api/storage", "gateway/claim", "gateway/config/buildinfo", "gateway/http/request", "gateway/http/response", "gateway/http/status", "gateway/keys/timeline", "gateway/netio/socket", "gateway/resource", "gateway/watch", "gateway/watchcache", "gateway/watchcache/filter"},
	"gateway/api/addresses":           {"encoding", "etcdstore", "gateway/api/catalog", "gateway/api/kinds", "gateway/watchcache"},
	"gateway/api/admission":           {"encoding", "encoding/gotype", "etcdstore", "gateway/api/catalog", "gateway/api/informer", "gateway/api/kinds", "gateway/api/object", "gateway/api/openapi", "gateway/api/webhook", "gateway/http/response", "gateway/resource", "gateway/watchcache"},
	"gateway/api/apiservices":         {"etcdstore", "gateway/api/catalog", "gateway/api/customresource", "gateway/api/reconcile", "gateway/api/storage", "gateway/claim", "gateway/resource", "gateway/watchcache"},
	"gateway/api/catalog":             {"encoding", "encoding/jsontext", "etcdstore", "gateway/api/conversion", "gateway/api/customresource", "gateway/api/discovery", "gateway/api/kinds", "gateway/api/managedfields", "gateway/api/migration", "gateway/api/mount", "gateway/api/object", "gateway/api/openapi", "gateway/claim", "gateway/http/status", "gateway/metrics", "gateway/resource", "gateway/watchcache"},
	"gateway/api/changes":             {"encoding", "etcdstore", "etcdstore/journal", "gateway/access/cputime", "gateway/api/catalog", "gateway/http/request", "gateway/http/response", "gateway/http/status", "gateway/keys/keyrange", "gateway/watchcache", "gateway/watchcache/filter"},
	"gateway/api/conversion":          {"etcdstore", "gateway/resource"},
	"gateway/api/customresource":      {"encoding", "encoding/jsontext", "gateway/api/webhook", "gateway/resource"},
	"gateway/api/discovery":           {"gateway/config/buildinfo", "gateway/http/response", "gateway/resource"},
	"gateway/api/garbage":             {"encoding/jsontext", "etcdstore"},
	"gateway/api/forms":               {"encoding/protobuf", "gateway/http/response", "gateway/http/status", "gateway/http/table", "gateway/resource", "gateway/watchcache"},
	"gateway/api/informer":            {"encoding", "etcdstore", "gateway/api/catalog", "gateway/api/kinds", "gateway/resource", "gateway/watchcache"},
	"gateway/api/kinds":               {"encoding/gotype", "encoding/jsontext", "gateway/resource"},
	"gateway/api/managedfields":       {"gateway/api/object", "gateway/api/schema", "gateway/resource"},
	"gateway/api/migration":           {"encoding", "encoding/jsontext", "etcdstore", "gateway/claim", "gateway/resource"},
	"gateway/api/mount":               {"encoding", "encoding/codec", "encoding/jsontext", "gateway/resource"},
	"gateway/api/object":              {"encoding", "encoding/codec", "encoding/gotype", "encoding/jsontext", "encoding/patch", "encoding/protobuf", "gateway/http/status", "gateway/resource"},
	"gateway/api/openapi":             {"encoding/codec", "gateway/api/schema", "gateway/http/response", "gateway/resource"},
	"gateway/api/pods":                {"encoding/gotype", "gateway/api/catalog", "gateway/api/object", "gateway/api/storage", "gateway/http/request", "gateway/http/status", "gateway/resource"},
	"gateway/api/quota":               {"encoding", "encoding/gotype", "gateway/api/admission", "gateway/api/catalog", "gateway/api/object", "gateway/api/storage", "gateway/resource", "gateway/watchcache"},
	"gateway/api/schema":              {"gateway/resource"},
	"gateway/api/reconcile":           {"encoding", "encoding/gotype", "gateway/api/catalog", "gateway/api/object", "gateway/api/storage", "gateway/resource", "gateway/watchcache"},
	"gateway/api/servicecidrs":        {"etcdstore", "gateway/api/addresses", "gateway/api/catalog", "gateway/api/reconcile", "gateway/api/storage", "gateway/claim", "gateway/resource", "gateway/watchcache"},
	"gateway/api/storage":             {"encoding", "encoding/codec", "encoding/jsontext", "encoding/patch", "etcdstore", "gateway/access/cputime", "gateway/api/addresses", "gateway/api/admission", "gateway/api/catalog", "gateway/api/customresource", "gateway/api/garbage", "gateway/api/managedfields", "gateway/api/object", "gateway/claim", "gateway/http/request", "gateway/http/status", "gateway/resource", "gateway/watchcache", "gateway/watchcache/selector"},
	"gateway/api/upstream":            {"gateway/access", "gateway/access/authentication", "gateway/access/authorization", "gateway/http/request", "gateway/http/response", "gateway/http/status"},
	"gateway/api/webhook":             {},
	"gateway/claim":                   {"etcdstore", "gateway/api/customresource", "gateway/resource"},
	"gateway/config":                  {"gateway/api/mount", "gateway/config/buildinfo", "gateway/config/reload", "gateway/config/suggest"},
	"gateway/config/buildinfo":        {},
	"gateway/config/reload":           {},
	"gateway/config/suggest":          {},
	"gateway/console":                 {},
	"gateway/gatewaytest":             {"gateway/gatewaytest/program"},
	"gateway/gatewaytest/abuse":       {"gateway/gatewaytest"},
	"gateway/gatewaytest/bench":       {"gateway/gatewaytest/plot", "gateway/gatewaytest/program"},
	"gateway/gatewaytest/conformance": {},
	"gateway/gatewaytest/envtest":     {"gateway/gatewaytest"},
	"gateway/gatewaytest/kubernetes":  {"gateway/gatewaytest"},
	"gateway/gatewaytest/plot":        {},
	"gateway/gatewaytest/program":     {},
	"gateway/gatewaytest/rawhttp":     {},
	"gateway/gatewaytest/robustness":  {"gateway/gatewaytest"},
	"gateway/gatewaytest/soak":        {"gateway/gatewaytest", "gateway/gatewaytest/plot", "gateway/gatewaytest/robustness"},
	"gateway/gatewaytest/watchers":    {"gateway/gatewaytest/program"},
	"gateway/http/request":            {"etcdstore", "gateway/access/authentication", "gateway/access/authorization", "gateway/access/cputime", "gateway/config/suggest", "gateway/console", "gateway/http/status", "gateway/keys/keyrange", "gateway/keys/timeline", "gateway/resource", "gateway/watchcache/filter", "gateway/watchcache/selector"},
	"gateway/http/response":           {"encoding", "encoding/jsontext", "encoding/projection", "encoding/protobuf", "etcdstore", "gateway/claim", "gateway/http/request", "gateway/http/status", "gateway/http/table", "gateway/keys/keyrange", "gateway/netio/buffer", "gateway/netio/socket", "gateway/resource", "gateway/watchcache"},
	"gateway/http/status":             {"encoding/codec", "etcdstore", "gateway/access/cputime", "gateway/access/flowcontrol", "gateway/claim", "gateway/keys/keyrange", "gateway/keys/timeline", "gateway/resource", "gateway/watchcache", "gateway/watchcache/filter"},
	"gateway/http/table":              {"encoding", "encoding/jsontext", "gateway/resource"},
	"gateway/keys":                    {"encoding", "encoding/codec", "encoding/projection", "etcdstore", "gateway/access", "gateway/access/authorization", "gateway/access/cputime", "gateway/access/flowcontrol", "gateway/claim", "gateway/http/request", "gateway/http/response", "gateway/http/status", "gateway/keys/keyrange", "gateway/keys/timeline", "gateway/metrics", "gateway/watch", "gateway/watchcache", "gateway/watchcache/filter"},
	"gateway/keys/keyrange":           {"encoding/jsontext", "etcdstore", "gateway/config/suggest"},
	"gateway/keys/timeline":           {"etcdstore"},
	"gateway/metrics":                 {"etcdstore", "etcdstore/journal/recorder", "etcdstore/monitor", "gateway/config/buildinfo", "gateway/watchcache"},
	"gateway/middleware":              {"gateway/access", "gateway/access/flowcontrol", "gateway/http/request", "gateway/http/response", "gateway/http/status", "gateway/metrics", "gateway/netio/socket", "gateway/netio/stranger", "gateway/resource"},
	"gateway/netio/buffer":            {},
	"gateway/netio/http2":             {"gateway/netio/buffer", "gateway/netio/socket", "gateway/netio/stranger"},
	"gateway/netio/socket":            {},
	"gateway/netio/stranger":          {},
	"gateway/resource":                {"encoding", "encoding/jsontext", "gateway/config/suggest"},
	"gateway/watch":                   {"encoding", "etcdstore", "gateway/access", "gateway/access/cputime", "gateway/access/flowcontrol", "gateway/http/request", "gateway/http/response", "gateway/http/status", "gateway/metrics", "gateway/netio/buffer", "gateway/netio/socket", "gateway/watch/transport", "gateway/watchcache"},
	"gateway/watch/eventloop":         {"etcdstore", "gateway/http/response", "gateway/http/status", "gateway/metrics", "gateway/netio/http2", "gateway/netio/socket", "gateway/watch", "gateway/watch/transport", "gateway/watchcache", "gateway/watchcache/filter"},
	"gateway/watch/transport":         {"gateway/access/cputime", "gateway/http/request", "gateway/http/response", "gateway/http/status", "gateway/netio/buffer", "gateway/netio/http2", "gateway/netio/socket"},
	"gateway/watchcache":              {"encoding", "etcdstore", "gateway/access/cputime", "gateway/watchcache/filter", "gateway/watchcache/history", "gateway/watchcache/selector", "gateway/watchcache/snapshots"},
	"gateway/watchcache/filter":       {"encoding", "encoding/jsontext", "encoding/projection"},
	"gateway/watchcache/history":      {"etcdstore"},
	"gateway/watchcache/selector":     {"encoding/jsontext"},
	"gateway/watchcache/snapshots":    {},
}

// soleImporters are the outside dependencies that one package alone may import.
var soleImporters = map[string]string{
	"go.etcd.io/etcd/client/v3":       "etcdstore",
	"go.etcd.io/etcd/server/v3/embed": "etcdstore/embedded",
	"github.com/go-chi/chi/v5":        "gateway",
}

// TestImports reads the files itself, because the result of a test that runs the go command is cached and keeps passing.
func TestImports(t *testing.T) {
	seen := map[string]bool{}
	module := modulePath(t) + "/"
	walkGoFiles(t, "..", func(file, pkg string) {
		seen[pkg] = true
		allowed, ok := mayImport[pkg]
		if !ok {
			t.Errorf("package %s has no line in mayImport: add the packages that it may import", pkg)
			return
		}
		test := strings.HasSuffix(file, "_test.go")
		for _, imported := range importsOf(t, file) {
			if own, ok := strings.CutPrefix(imported, module); ok && !test && own != pkg && !slices.Contains(allowed, own) {
				t.Errorf("%s imports %s, which mayImport does not allow", file, imported)
			}
			for door, only := range soleImporters {
				if (imported == door || strings.HasPrefix(imported, door+"/")) && pkg != only {
					t.Errorf("%s imports %s: only %s may", file, imported, only)
				}
			}
		}
	})
	for pkg := range mayImport {
		if !seen[pkg] {
			t.Errorf("mayImport has a line for %s, which does not exist", pkg)
		}
	}
}

// TestTopLevel checks that the top level has only the entries of the layout.
func TestTopLevel(t *testing.T) {
	allowed := []string{"cmd", "gateway", "etcdstore", "encoding", "deploy", "go.mod", "go.sum", "Makefile", "README.md", "LICENSE", "CHANGELOG.md",
		"bin", "revtail.etcd"} // the last two are made and used by make, and git ignores them
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), ".") && !slices.Contains(allowed, entry.Name()) {
			t.Errorf("the top level has %s, which is not in the layout", entry.Name())
		}
	}
}

// TestPackageNames refuses package names that say nothing about their content.
func TestPackageNames(t *testing.T) {
	walkGoFiles(t, "..", func(_, pkg string) {
		if slices.Contains([]string{"util", "utils", "common", "helpers", "types", "model", "pkg", "internal"}, path.Base(pkg)) {
			t.Errorf("package %s has a name that says nothing about its content", pkg)
		}
	})
}

// walkGoFiles visits the files of the module without nested modules and dot folders.
func walkGoFiles(t *testing.T, root string, visit func(file, pkg string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || isModule(name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".go") {
			pkg, err := filepath.Rel(root, filepath.Dir(name))
			if err != nil {
				return err
			}
			visit(name, filepath.ToSlash(pkg))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// modulePath reads the path of the module from go.mod.
func modulePath(t *testing.T) string {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(file), "\n")
	path, ok := strings.CutPrefix(line, "module ")
	if !ok {
		t.Fatalf("the first line of go.mod is %q", line)
	}
	return path
}

func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	imports := make([]string, 0, len(parsed.Imports))
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		imports = append(imports, imported)
	}
	return imports
}
