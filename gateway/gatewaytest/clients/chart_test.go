package clients

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"revtail/gateway/gatewaytest"
)

const (
	repository = "../../.."
	chart      = repository + "/deploy/helm/revtail"
)

// valueSets returns the files with values for the chart, by name.
func valueSets(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/charts/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("value sets %v, %v", files, err)
	}
	out := map[string]string{}
	for _, file := range files {
		if out[strings.TrimSuffix(filepath.Base(file), ".yaml")], err = filepath.Abs(file); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// helm runs helm without a cluster.
func helm(t *testing.T, args ...string) (said string, code int) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), gatewaytest.Tool(t, "helm"), args...)
	cmd.Env = []string{"HOME=" + home, "KUBECONFIG=" + filepath.Join(home, "none")}
	output, err := cmd.CombinedOutput()
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return string(output), cmd.ProcessState.ExitCode()
}

// object is a manifest, as far as the tests of the chart read it.
type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Data map[string]string `json:"data"`
	Spec map[string]any    `json:"spec"`
}

// render returns the objects of the chart, by kind and name.
func render(t *testing.T, args ...string) map[string]object {
	t.Helper()
	said, code := helm(t, append([]string{"template", "revtail", chart}, args...)...)
	if code != 0 {
		t.Fatalf("helm template %s:\n%s", strings.Join(args, " "), said)
	}
	_, said, _ = strings.Cut(said, "---\n") // the log on stderr is above
	out := map[string]object{}
	for decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(said), 1<<16); ; {
		var o object
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		if o.Kind != "" {
			out[o.Kind+"/"+o.Metadata.Name] = o
		}
	}
}

// TestChart checks that helm finds nothing to complain about, and that the program accepts the configuration that the chart makes.
func TestChart(t *testing.T) {
	t.Parallel()
	for name, values := range valueSets(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if said, code := helm(t, "lint", "--strict", chart, "-f", values); code != 0 {
				t.Errorf("helm lint:\n%s", said)
			}
			full := "revtail"
			if name == "open" {
				full = name
			}
			config := render(t, "-f", values)["ConfigMap/"+full+"-config"].Data["revtail.yaml"]
			said, code := run(t, "serve", "--print-config", "--config", save(t, "revtail.yaml", config))
			if code != 0 {
				t.Errorf("the program refuses the configuration:\n%s\n%s", config, said)
			}
		})
	}
}

// TestChartRefuses checks that the chart refuses values that would not work, or that would let everybody in, and names the value.
func TestChartRefuses(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"replicas=0":                                             "'/replicas': minimum: got 0, want 1",
		"replicas=two":                                           "'/replicas': got string, want integer",
		"replica=3":                                              "additional properties 'replica' not allowed",
		"tls.on=true":                                            "'/tls': additional properties 'on' not allowed",
		"service.port=70000":                                     "'/service/port': maximum: got 70,000, want 65,535",
		"service.type=External":                                  "'/service/type': value must be one of 'ClusterIP', 'NodePort', 'LoadBalancer'",
		"ownEtcd.antiAffinity=no":                                "'/ownEtcd/antiAffinity': value must be one of 'required', 'preferred'",
		"ownEtcd.quotaBackendBytes=4Gi":                          "'/ownEtcd/quotaBackendBytes': got string, want integer",
		"ownEtcd.storage.size=ten":                               `ownEtcd.storage.size "ten": want a size, as 10Gi`,
		"tls.enabled=false":                                      "no TLS (tls.enabled): every client in the network could read and change the keys under /registry in etcd.",
		"authentication.tokens.enabled=false":                    "no authentication (authentication.tokens.enabled, ",
		"config.histroy=1h":                                      "'/config': additional properties 'histroy' not allowed",
		"config.maxWatches=many":                                 "'/config/maxWatches': got string, want integer",
		"config.listen=0.0.0.0:80":                               "config.listen: the chart sets this option from other values",
		"etcd.endpoints={etcd:2379}":                             `etcd.endpoints: "etcd:2379": want a URL with a port, as https://etcd-1.example.com:2379`,
		"etcd.endpoints={https://etcd}":                          `etcd.endpoints: "https://etcd": want a URL with a port`,
		"etcd.endpoints={http://a:1,https://b:1}":                "etcd.endpoints: http://a:1 and https://b:1: want https:// in all of them, or http:// in all",
		"etcd.prefix=registry":                                   `etcd.prefix "registry": want a path, as /registry`,
		"etcd.user=root":                                         `etcd.user "root": the chart's own etcd has no users`,
		"etcd.clientCertificate=false":                           "etcd.clientCertificate=false: the chart's own etcd accepts only clients with a certificate",
		"image.repository=revtail:1":                             `image.repository "revtail:1": want it without a tag`,
		"fullnameOverride=Revtail":                               `fullnameOverride "Revtail": want up to 50 lower case letters, digits and -`,
		"authentication.oidc.issuerURL=http://a":                 `authentication.oidc.issuerURL "http://a": want an https:// URL`,
		"authentication.oidc.issuerURL=https://a":                "authentication.oidc.clientID: want the audience of the issuer's tokens",
		"policy.rules=a,policy.configMapName=b":                  "policy.rules and policy.configMapName: want one of them",
		"ingress.enabled=true":                                   "ingress.host: want the name of the gateways for clients",
		"httpRoute.enabled=true":                                 "httpRoute.parentRefs: want the Gateway of the route",
		"monitoring.interval=soon":                               `monitoring.interval "soon": want a duration, as 30s`,
		"certManager.enabled=true":                               "certManager.issuerRef.name: want the name of an Issuer",
		"certManager.enabled=true,certManager.issuerRef.name=a":  "certManager.etcdIssuerRef.name: want the name of an Issuer",
		"tls.enabled=false,authentication.clientCA.secretName=a": "no TLS (tls.enabled)",
		"authentication.anonymous=true,tls.enabled=false,authentication.clientCA.secretName=a":                    "authentication.clientCA.secretName: certificates of clients need tls.enabled=true",
		"monitoring.serviceMonitor=true,authentication.clientCA.secretName=a,authentication.tokens.enabled=false": "want authentication.tokens.enabled=true",
	} {
		said, code := helm(t, "template", "revtail", chart, "--set", set)
		if code == 0 || !strings.Contains(said, want) {
			t.Errorf("--set %s: exit code %d, want another one and %q:\n%s", set, code, want, said)
		}
	}
}

// TestChartHasTheAlerts checks that the rules of the chart are those of deploy/prometheus.
func TestChartHasTheAlerts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(repository + "/deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := yaml.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	rule := render(t, "--set", "monitoring.prometheusRule=true")["PrometheusRule/revtail"]
	if diff := cmp.Diff(want, rule.Spec); diff != "" {
		t.Error(diff)
	}
}

// TestManifestsAreRendered checks that `make manifests` would change nothing.
func TestManifestsAreRendered(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), installed(t, "bash", "bash"), repository+"/.ci/manifests", folder)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(gatewaytest.Tool(t, "helm"))+string(os.PathListSeparator)+os.Getenv("PATH"))
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, output)
	}
	rendered := 0
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rendered++
		name, _ := filepath.Rel(folder, path)
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		have, err := os.ReadFile(filepath.Join(repository, "deploy", "kubernetes", name))
		if err != nil || !bytes.Equal(have, want) {
			t.Errorf("deploy/kubernetes/%s is not what the chart renders, `make manifests` does that: %v\n%s", name, err, cmp.Diff(string(have), string(want)))
		}
		return nil
	})
	if err != nil || rendered < 7 {
		t.Errorf("%d files, %v", rendered, err)
	}
}
