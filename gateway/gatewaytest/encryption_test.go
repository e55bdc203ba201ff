package gatewaytest_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// secretbox returns a provider with one key.
func secretbox(name string) string {
	return fmt.Sprintf("  - secretbox: {keys: [{name: %s, secret: %s}]}\n", name, base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%032s", name))))
}

const identity = "  - identity: {}\n"

// encryptionFile writes an EncryptionConfiguration of Secrets, custom resources and keys.
func encryptionFile(t *testing.T, path string, providers ...string) {
	t.Helper()
	content := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n" +
		"- resources: [secrets, '*.example.com', keys.revtail]\n  providers:\n" + strings.Join(providers, "")
	next := path + ".next"
	if err := os.WriteFile(next, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

// secretOf returns the JSON of a Secret.
func secretOf(name, value string) string {
	return fmt.Sprintf(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":%q},"stringData":{"word":%q}}`, name, value)
}

// filesWith returns the files below a folder that have a text, as it is or anywhere in base64.
func filesWith(t *testing.T, folder, text string) (found []string) {
	t.Helper()
	wanted := [][]byte{[]byte(text)}
	for shift := range 3 { // base64 of a text depends on where it begins in three bytes
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + text))
		wanted = append(wanted, []byte(encoded[4:len(encoded)-4]))
	}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, each := range wanted {
			if bytes.Contains(content, each) {
				found = append(found, path)
				break
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestNoPlainTextOnDisk checks that etcd's files have no encrypted value: not the newest, not an older one, not a deleted one, and
// not that of a key.
func TestNoPlainTextOnDisk(t *testing.T) {
	t.Parallel()
	file, data := filepath.Join(t.TempDir(), "encryption.yaml"), filepath.Join(t.TempDir(), "data")
	encryptionFile(t, file, secretbox("key1"), identity)
	gw := gatewaytest.Start(t, "--data-dir", data, "--encryption-provider-config", file, "--encryption-keys", "/app/secret/")
	canaries := []string{"canary-of-the-first-version", "canary-of-the-second-version", "canary-of-a-deleted-object", "canary-of-a-key", "canary-in-a-condition"}
	const plain = "canary-that-is-not-encrypted"
	gw.Create(t, secrets, secretOf("a", canaries[0]))
	gw.Patch(t, secrets+"/a", `{"stringData":{"word":"`+canaries[1]+`"}}`)
	gw.Create(t, secrets, secretOf("b", canaries[2]))
	gw.Delete(t, secrets+"/b")
	gw.Create(t, configMaps, gatewaytest.ConfigMap("c", plain))
	for _, write := range [][3]string{
		{"PUT", "/v1/keys/app/secret/x", canaries[3]},
		{"POST", "/v1/txn", fmt.Sprintf(`{"compare":[{"key":"/app/secret/x","value":%q}],"then":[{"put":{"key":"/app/secret/x","value":%q}}]}`, canaries[3], canaries[4])},
	} {
		if answer := gw.Do(t, write[0], write[1], write[2]); answer.Code != http.StatusOK || strings.Contains(answer.Body, `"succeeded": false`) {
			t.Errorf("%s %s: %d %s", write[0], write[1], answer.Code, answer.Body)
		}
	}
	if code := gw.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if found := filesWith(t, data, plain); len(found) == 0 {
		t.Error("a value that is not encrypted is in no file: the test sees nothing")
	}
	for _, canary := range canaries {
		if found := filesWith(t, data, canary); len(found) > 0 {
			t.Errorf("%s is in %s", canary, found)
		}
	}
	gw.Restart(t)
	if got := gw.Get(t, secrets+"/a").Data["word"]; got != base64.StdEncoding.EncodeToString([]byte(canaries[1])) {
		t.Errorf("after a restart the Secret has %q", got)
	}
	if answer := gw.Do(t, "GET", "/v1/keys/app/secret/x", ""); !strings.Contains(answer.Body, canaries[4]) {
		t.Errorf("after a restart the key is %d %s", answer.Code, answer.Body)
	}
}

// TestRotation rotates the key of Secrets while the gateway runs, and removes the old key.
func TestRotation(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	encryptionFile(t, file, secretbox("key1"))
	gw := gatewaytest.Start(t, "--encryption-provider-config", file)
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	stored := func(name string) string {
		value, _ := etcd.Get(t, "/registry/secrets/default/"+name)
		return value
	}
	first := gw.Create(t, secrets, secretOf("a", "one"))
	watch := gw.Watch(t, secrets+"?watch=1&resourceVersion="+first.Metadata.ResourceVersion)

	encryptionFile(t, file, secretbox("key2"), secretbox("key1"))
	gw.Hangup(t)
	gatewaytest.Until(t, "the new key is used", func() bool {
		return strings.Contains(gw.Log(t), "a file has changed and is in use")
	})
	read := gw.Get(t, secrets+"/a")
	if read.Data["word"] != "b25l" {
		t.Errorf("with the old key behind the new one: %+v", read)
	}
	same := fmt.Sprintf(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","resourceVersion":%q},"data":{"word":"b25l"}}`, read.Metadata.ResourceVersion)
	for i, want := range []bool{true, false} {
		before := stored("a")
		answer := gw.Do(t, "PUT", secrets+"/a", strings.Replace(same, read.Metadata.ResourceVersion, gw.Get(t, secrets+"/a").Metadata.ResourceVersion, 1))
		if answer.Code != http.StatusOK || (stored("a") != before) != want {
			t.Errorf("update %d that changes nothing: %d, and wrote %v, want %v", i, answer.Code, stored("a") != before, want)
		}
	}
	if !strings.HasPrefix(stored("a"), "k8s:enc:secretbox:v1:key2:") {
		t.Errorf("stored as %.40q", stored("a"))
	}
	if event := watch.Next(t); event.Type != "MODIFIED" || event.Object.Data["word"] != "b25l" {
		t.Errorf("the watch has %s", event.Line)
	}

	encryptionFile(t, file, secretbox("key2"))
	if code := gw.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	gw.Restart(t)
	if list := gw.Get(t, secrets); len(list.Items) != 1 || list.Items[0].Data["word"] != "b25l" {
		t.Errorf("without the old key: %+v", list)
	}
	wantSays(t, doctor(t, gw.EtcdEndpoint, gw.URL, 0), "1 are encrypted", "revtail's own")
	late := gw.Watch(t, secrets+"?watch=1&resourceVersion=1") // the first event has the old key
	if event := late.Next(t); event.Type != "ERROR" || event.Object.Code != http.StatusGone || !strings.Contains(event.Object.Message, "k8s:enc:secretbox:v1:key1:") {
		t.Errorf("a watch from before the rotation: %s, want 410", event.Line)
	}
}

// TestMissingKey checks what a gateway without a key serves, and that a file with the key repairs it.
func TestMissingKey(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	encryptionFile(t, file, secretbox("key1"))
	gw := gatewaytest.Start(t, "--encryption-provider-config", file, "--encryption-keys", "/app/secret/")
	gw.Create(t, secrets, secretOf("a", "one"))
	gw.Create(t, configMaps, gatewaytest.ConfigMap("c", "readable"))
	gw.Do(t, "PUT", "/v1/keys/app/secret/x", "one")
	gw.Stop(t)
	encryptionFile(t, file, secretbox("key2"))
	gw.Restart(t)
	for _, request := range [][2]string{
		{"GET", secrets + "/a"}, {"GET", secrets + "/a?resourceVersion=0"}, {"GET", secrets}, {"GET", "/api/v1/secrets?resourceVersion=0&limit=1"},
		{"PATCH", secrets + "/a"}, {"DELETE", secrets + "/a"}, {"DELETE", secrets}, {"GET", "/v1/keys/app/secret/x"}, {"GET", "/v1/keys/app/?filter=value!='x'"},
	} {
		answer := gw.Do(t, request[0], request[1], `{}`)
		if answer.Code != http.StatusInternalServerError || !strings.Contains(answer.Body, "k8s:enc:secretbox:v1:key1:") {
			t.Errorf("%s %s: %d %s, want 500 with the name of the key", request[0], request[1], answer.Code, answer.Body)
		}
	}
	if got := gw.Get(t, configMaps+"/c").Data["value"]; got != "readable" {
		t.Errorf("the ConfigMap has %q", got)
	}
	if answer := gw.Do(t, "GET", "/v1/keys/app/?keysOnly=true", ""); answer.Code != http.StatusOK || !strings.Contains(answer.Body, "/app/secret/x") {
		t.Errorf("keys alone: %d %s", answer.Code, answer.Body)
	}
	if got := gatewaytest.Metric(t, gw.URL+"/metrics", `revtail_undecodable_values{resource="secrets"}`); got != "1" {
		t.Errorf("revtail_undecodable_values is %s", got)
	}

	if err := os.WriteFile(file, []byte("kind: nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gw.Hangup(t)
	ok := `revtail_file_last_reload_successful{flag="--encryption-provider-config"}`
	gatewaytest.Until(t, "the bad file is reported", func() bool { return gatewaytest.Metric(t, gw.URL+"/metrics", ok) == "0" })
	encryptionFile(t, file, secretbox("key2"), secretbox("key1"))
	gatewaytest.Until(t, "the Secret in lists", func() bool { return gw.Do(t, "GET", secrets, "").Code == http.StatusOK })
	if got := gw.Get(t, secrets+"/a").Data["word"]; got != "b25l" {
		t.Errorf("the Secret has %q", got)
	}
	if got := gatewaytest.Metric(t, gw.URL+"/metrics", ok); got != "1" {
		t.Errorf("%s is %s", ok, got)
	}
}

// TestKMSPlugin checks a gateway with a plugin that ends and comes back, also one that starts before the plugin.
func TestKMSPlugin(t *testing.T) {
	t.Parallel()
	plugin, file := gatewaytest.StartKMS(t), filepath.Join(t.TempDir(), "encryption.yaml")
	encryptionFile(t, file, plugin.Provider("vault"))
	gw := gatewaytest.Start(t, "--encryption-provider-config", file)
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	gw.Create(t, secrets, secretOf("a", "one"))
	if stored, _ := etcd.Get(t, "/registry/secrets/default/a"); !strings.HasPrefix(stored, "k8s:enc:kms:v2:vault:") {
		t.Errorf("stored as %.40q", stored)
	}
	healthy := func() bool {
		answer := gw.Do(t, "GET", "/readyz?verbose", "")
		return strings.Contains(answer.Body, "[+]encryption ok")
	}
	gatewaytest.Until(t, "a healthy plugin", healthy)
	plugin.Stop()
	gatewaytest.Until(t, "a plugin that is missed", func() bool { return !healthy() })
	if got := gatewaytest.Metric(t, gw.URL+"/metrics", "revtail_kms_healthy"); got != "0" {
		t.Errorf("revtail_kms_healthy is %s", got)
	}
	if got := gw.Get(t, secrets+"/a").Data["word"]; got != "b25l" { // its key is in memory
		t.Errorf("the Secret has %q", got)
	}
	plugin.Start(t)
	gatewaytest.Until(t, "a healthy plugin again", healthy)
	gw.Create(t, secrets, secretOf("b", "two"))

	plugin.Stop()
	gw.Stop(t)
	log := gw.Log // of the file, which stays the same
	waits := func() int { return strings.Count(log(t), "cannot be encrypted or decrypted at present") }
	before, started := waits(), make(chan struct{})
	go func() {
		defer close(started)
		gatewaytest.Until(t, "a start that says what it waits for", func() bool { return waits() > before })
		plugin.Start(t)
	}()
	gw.Restart(t)
	<-started
	if got := len(gw.Get(t, secrets).Items); got != 2 {
		t.Errorf("%d Secrets after a start without the plugin, want 2", got)
	}
}
