package gateway_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The limits of a package, a file and a function, in files and in lines with comments, without tests.
const (
	maxPackageFiles  = 22
	maxPackageLines  = 2000
	maxFileLines     = 300
	maxFunctionLines = 50
)

// limits are the limits of exceptional packages.
var limits = map[string]struct{ files, lines int }{
	"etcdstore":           {files: maxPackageFiles, lines: 2150},
	"etcdstore/journal":   {files: maxPackageFiles + 8, lines: 3800},
	"gateway":             {files: 12, lines: 900},
	"gateway/api/storage": {files: maxPackageFiles, lines: 2080},
	"gateway/watchcache":  {files: maxPackageFiles + 7, lines: 4500},
}

// maxServerFields keeps Server small: its fields are the parts that New connects.
const maxServerFields = 8

// maxFolders is the maximum of folders directly below gateway/.
const maxFolders = 14

// TestSizes keeps packages, files and functions small enough to be read at once.
func TestSizes(t *testing.T) {
	files, lines := map[string]int{}, map[string]int{}
	walkGoFiles(t, "..", func(file, pkg string) {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(pkg, "gateway/gatewaytest") {
			return
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		size := bytes.Count(source, []byte("\n"))
		files[pkg]++
		lines[pkg] += size
		if size > maxFileLines {
			t.Errorf("%s has %d lines: the limit is %d", file, size, maxFileLines)
		}
		checkFunctions(t, file, source)
	})
	for pkg := range files {
		limit, ok := limits[pkg]
		if !ok {
			limit.files, limit.lines = maxPackageFiles, maxPackageLines
		}
		if files[pkg] > limit.files || lines[pkg] > limit.lines {
			t.Errorf("package %s has %d files and %d lines: the limits are %d and %d", pkg, files[pkg], lines[pkg], limit.files, limit.lines)
		}
	}
}

func checkFunctions(t *testing.T, file string, source []byte) {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncDecl:
			if size := set.Position(node.End()).Line - set.Position(node.Pos()).Line + 1; size > maxFunctionLines {
				t.Errorf("%s: %s has %d lines: the limit is %d", file, node.Name.Name, size, maxFunctionLines)
			}
		case *ast.TypeSpec:
			body, ok := node.Type.(*ast.StructType)
			if ok && node.Name.Name == "Server" && filepath.Dir(file) == filepath.Join("..", "gateway") && body.Fields.NumFields() > maxServerFields {
				t.Errorf("%s: Server has %d fields: the limit is %d", file, body.Fields.NumFields(), maxServerFields)
			}
		}
		return true
	})
}

// TestFolders limits the number of folders directly below gateway/.
func TestFolders(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	folders := 0
	for _, entry := range entries {
		if entry.IsDir() {
			folders++
		}
	}
	if folders > maxFolders {
		t.Errorf("gateway has %d folders: the limit is %d", folders, maxFolders)
	}
}
