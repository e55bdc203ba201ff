package gatewaytest_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// encryptedResources are resources that are encrypted by one provider each, with an object and a text in it.
var encryptedResources = []struct{ provider, resource, collection, object, text string }{
	{"aescbc", "secrets", secrets, secretOf("s", "of-aescbc"), base64.StdEncoding.EncodeToString([]byte("of-aescbc"))},
	{"aesgcm", "configmaps", configMaps, gatewaytest.ConfigMap("c", "of-aesgcm"), "of-aesgcm"},
	{
		"secretbox", "serviceaccounts", "/api/v1/namespaces/default/serviceaccounts",
		`{"kind":"ServiceAccount","apiVersion":"v1","metadata":{"name":"a","labels":{"l":"of-secretbox"}}}`, "of-secretbox",
	},
	{
		"kms", "leases.coordination.k8s.io", "/apis/coordination.k8s.io/v1/namespaces/default/leases",
		`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"l","labels":{"l":"of-kms"}}}`, "of-kms",
	},
}

// writeProviders writes an EncryptionConfiguration of encryptedResources without some providers, with keys that are made of a text.
func writeProviders(t *testing.T, socket, key string, without ...string) (path string) {
	t.Helper()
	var out strings.Builder
	out.WriteString("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [pods]\n  providers: [{identity: {}}]\n")
	for _, r := range encryptedResources {
		provider := fmt.Sprintf("%s: {keys: [{name: %s, secret: %s}]}", r.provider, key, base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%032s", key))))
		if r.provider == "kms" {
			provider = fmt.Sprintf("kms: {apiVersion: v2, name: %s, endpoint: %q, timeout: 3s}", key, "unix://"+socket)
		}
		if !strings.Contains(strings.Join(without, " "), r.provider) {
			fmt.Fprintf(&out, "- resources: [%s]\n  providers: [{%s}]\n", r.resource, provider)
		}
	}
	path = filepath.Join(t.TempDir(), "encryption.yaml")
	writeFile(t, path, out.String())
	return path
}

// startEncrypted returns the data directory of a gateway that has stored an object of each of encryptedResources, and stopped.
func startEncrypted(t *testing.T, config string) (data string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	gw := gatewaytest.Start(t, "--data-dir", data, "--encryption-provider-config", config)
	for _, r := range encryptedResources {
		gw.Create(t, r.collection, r.object)
	}
	gw.Stop(t)
	if found := filesWith(t, data, "of-aesgcm"); len(found) > 0 {
		t.Fatalf("a value is not encrypted in %v", found)
	}
	return data
}

// TestOpenEncrypted opens data that each kind of provider has encrypted: with the keys, with other keys and without some or all of them. What cannot
// be decrypted is named, and everything else is served.
func TestOpenEncrypted(t *testing.T) {
	t.Parallel()
	kms := gatewaytest.StartKMS(t)
	config := writeProviders(t, kms.Socket, "one")
	data := startEncrypted(t, config)
	for name, test := range map[string]struct {
		args   []string
		failed []string // the providers whose values cannot be decrypted
	}{
		"the keys":      {[]string{"--encryption-provider-config", config}, nil},
		"other keys":    {[]string{"--encryption-provider-config", writeProviders(t, kms.Socket, "two")}, []string{"aescbc", "aesgcm", "secretbox", "kms"}},
		"some keys":     {[]string{"--encryption-provider-config", writeProviders(t, kms.Socket, "one", "aesgcm", "kms")}, []string{"aesgcm", "kms"}},
		"without a key": {nil, []string{"aescbc", "aesgcm", "secretbox", "kms"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append(test.args, data, "--redact", "none")
			opened := &gatewaytest.Gateway{URL: urlOfReady.FindStringSubmatch(openFile(t, args...))[1]}
			ready := opened.Do(t, http.MethodGet, "/readyz?verbose", "")
			if (ready.Code == http.StatusOK) != (test.failed == nil) {
				t.Errorf("readiness: %d %s", ready.Code, ready.Body)
			}
			for _, r := range encryptedResources {
				failed := strings.Contains(strings.Join(test.failed, " "), r.provider)
				answer := opened.Do(t, http.MethodGet, r.collection+"?limit=500", "")
				named := strings.Contains(ready.Body, "a value of "+r.resource+` cannot be decrypted: it begins with "k8s:enc:`+r.provider)
				switch {
				case !failed && (answer.Code != http.StatusOK || !strings.Contains(answer.Body, r.text) || named):
					t.Errorf("%s: %d %s; readiness: %s", r.resource, answer.Code, answer.Body, ready.Body)
				case failed && (answer.Code != http.StatusInternalServerError || !strings.Contains(answer.Body, "cannot be decrypted") || !named):
					t.Errorf("%s: %d %s, want 500; readiness: %s", r.resource, answer.Code, answer.Body, ready.Body)
				}
			}
			if answer := opened.Do(t, http.MethodGet, "/api/v1/pods", ""); answer.Code != http.StatusOK {
				t.Errorf("pods, which are not encrypted: %d %s", answer.Code, answer.Body)
			}
		})
	}
}

// TestCommandsOnEncryptedFiles checks that a command that reads a file prints nothing of a value that it cannot decrypt, and says what is missing.
func TestCommandsOnEncryptedFiles(t *testing.T) {
	t.Parallel()
	kms := gatewaytest.StartKMS(t)
	config := writeProviders(t, kms.Socket, "one")
	data := startEncrypted(t, config)
	if got := revtail(t, "get", "cm", "c", "--snapshot", data, "--encryption-provider-config", config, "-o", "jsonpath={.data.value}"); got != "of-aesgcm" {
		t.Errorf("the value is %q", got)
	}
	kms.Stop()
	for want, args := range map[string][]string{
		`it begins with "k8s:enc:aesgcm:v1:one:"`:                       {"get", "cm", "--snapshot", data},
		`it begins with "k8s:enc:aescbc:v1:one:"`:                       {"restore", "secret/s", "--from", data, "--redact", "none"},
		`leases/default/l" cannot be encrypted or decrypted at present`: {"get", "leases", "--snapshot", data, "--encryption-provider-config", config},
		"--encryption-provider-config":                                  {"get", "cm", "--snapshot", data, "--encryption-provider-config", filepath.Join(t.TempDir(), "none.yaml")},
	} {
		cmd := exec.CommandContext(t.Context(), gatewaytest.Binary(t), args...)
		cmd.Env = withoutOptions()
		var said strings.Builder
		cmd.Stderr = &said
		if out, err := cmd.Output(); err == nil || len(out) > 0 || !strings.Contains(said.String(), want) {
			t.Errorf("%v: %v, stdout %q, want %q in\n%s", args, err, out, want, &said)
		}
	}
}
