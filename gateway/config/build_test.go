//go:build noembedded && nootlp

package config

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestBuildWithoutParts runs in the smallest build only: go test -tags noembedded,nootlp -run TestBuildWithoutParts ./gateway/config
func TestBuildWithoutParts(t *testing.T) {
	const etcd = "--etcd-endpoints=http://127.0.0.1:2379"
	checkRefused(t, []refusal{
		{name: "no etcd", says: []string{"--etcd-endpoints: this build of revtail has no embedded etcd (build tag noembedded): name an etcd, as --etcd-endpoints http"}},
		{name: "data directory", args: []string{"--data-dir=a"}, says: []string{"--data-dir: this build of revtail has no embedded etcd", "remove it"}},
		{name: "client URL", environ: []string{"REVTAIL_EMBEDDED_CLIENT_URL=http://127.0.0.1:0"}, says: []string{"--embedded-client-url: this build"}},
		{name: "etcd's configuration", file: "embeddedConfig: a\n", says: []string{"--embedded-config: this build"}},
		{name: "traces", args: []string{etcd, "--otlp-endpoint=http://127.0.0.1:4317"}, says: []string{"--otlp-endpoint: this build of revtail sends no traces (build tag nootlp): remove it"}},
	})
	if c, err := load(t, []string{etcd}, nil, ""); err != nil || c.Validate() != nil {
		t.Errorf("an external etcd is refused: %v, %v", err, c.Validate())
	}
	fs, help := pflag.NewFlagSet("serve", pflag.ContinueOnError), bytes.Buffer{}
	fs.SetOutput(&help)
	AddFlags(fs)
	fs.PrintDefaults()
	for _, want := range []string{"required, because this build of revtail has no embedded etcd", "refused, because this build of revtail sends no traces"} {
		if !strings.Contains(help.String(), want) {
			t.Errorf("--help does not say %q", want)
		}
	}
}
