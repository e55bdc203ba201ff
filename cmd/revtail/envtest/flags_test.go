package envtest

import (
	"os"
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

func TestSplitFlags(t *testing.T) {
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	known.String("cert-dir", "", "")
	known.Int("secure-port", 0, "")
	known.BoolP("help", "h", false, "")
	args := []string{"--allow-privileged", "--cert-dir", "dir", "--feature-gates", "A=true", "--secure-port=1", "-v=2", "--allow-privileged=true", "--help", "-h"}
	kept, unknown := splitFlags(args, known)
	if want := []string{"--cert-dir", "dir", "--secure-port=1", "--help", "-h"}; !slices.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
	if want := []string{"--allow-privileged", "--feature-gates", "-v=2"}; !slices.Equal(unknown, want) {
		t.Errorf("unknown %q, want %q", unknown, want)
	}
}

func TestIgnoreEnvironment(t *testing.T) {
	t.Setenv("REVTAIL_LISTEN", "203.0.113.1:8080")
	t.Setenv("OTHER", "stays")
	ignoreEnvironment()
	if _, set := os.LookupEnv("REVTAIL_LISTEN"); set || os.Getenv("OTHER") != "stays" {
		t.Error("the variables of revtail alone are ignored")
	}
}

// serveArgsOf returns the arguments of revtail for flags of a kube-apiserver.
func serveArgsOf(t *testing.T, given string) []string {
	t.Helper()
	serve := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	for _, own := range renamed {
		serve.String(own, "", "")
	}
	serve.String("tls-cert-file", "", "")
	serve.String(clusterIPRange, "", "")
	var a apiServer
	flags := a.flags(serve)
	if err := flags.Parse(slices.DeleteFunc([]string{"--tls-cert-file=x", given}, func(arg string) bool { return arg == "" })); err != nil {
		t.Fatal(err)
	}
	args, err := a.serveArgs(flags)
	if err != nil {
		t.Fatal(err)
	}
	return args
}

// TestClusterIPRange checks that Services get addresses as from a kube-apiserver, whose flag has a default.
func TestClusterIPRange(t *testing.T) {
	for given, want := range map[string]string{"": "10.0.0.0/24", "--service-cluster-ip-range=10.1.0.0/16": "10.1.0.0/16"} {
		args := serveArgsOf(t, given)
		if at := slices.Index(args, "--"+clusterIPRange); at < 0 || args[at+1] != want || slices.Contains(args[at+1:], "--"+clusterIPRange) {
			t.Errorf("%q: %q, want %s", given, args, want)
		}
	}
}

func TestNamespacesAreRequired(t *testing.T) {
	for plugins, want := range map[string]bool{"": true, "--disable-admission-plugins=ServiceAccount": true, "--disable-admission-plugins=ServiceAccount,NamespaceLifecycle": false} {
		args := serveArgsOf(t, plugins)
		if slices.Contains(args, "--require-namespaces") != want || slices.Contains(args, "--disable-admission-plugins") {
			t.Errorf("%q: %q", plugins, args)
		}
	}
}
