// Typecheck checks from their sources that packages are correct on the platform of GOOS and GOARCH, with the build tags of GOFLAGS. It compiles
// nothing: a compiler would first have to build all that they import for those, which takes minutes.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("typecheck: ")
	tests := flag.Bool("test", false, "check the tests too")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("want the patterns of packages, as ./...")
	}
	loaded, err := packages.Load(&packages.Config{
		Mode:  packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax | packages.NeedTypes,
		Tests: *tests,
	}, flag.Args()...)
	if err != nil {
		log.Fatal(err)
	}
	if packages.PrintErrors(loaded) > 0 {
		os.Exit(1)
	}
	fmt.Println(len(loaded), "packages are correct")
}
