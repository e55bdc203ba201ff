package gatewaytest_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// encryptedJournal is a gateway with a journal of encrypted resources, whose key was rotated.
type encryptedJournal struct {
	*gatewaytest.Gateway
	file, dir string
	canaries  []string // the values that were written, in their order
	secret    []int64  // the revisions of the Secret a
	configMap []int64  // those of the ConfigMap c
	plain     string   // a value that is not encrypted
}

func (j *encryptedJournal) encryptWith(t *testing.T, providers ...string) {
	t.Helper()
	writeFile(t, j.file+".next", "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets, configmaps]\n  providers:\n"+strings.Join(providers, ""))
	if err := os.Rename(j.file+".next", j.file); err != nil {
		t.Fatal(err)
	}
}

// change writes the Secret and the ConfigMap.
func (j *encryptedJournal) change(t *testing.T) {
	t.Helper()
	canary := fmt.Sprintf("canary-of-change-%d", len(j.canaries))
	j.canaries = append(j.canaries, canary)
	j.secret = append(j.secret, j.Patch(t, secrets+"/a", `{"stringData":{"word":"`+canary+`"}}`).Revision(t))
	j.configMap = append(j.configMap, j.Patch(t, configMaps+"/c", `{"data":{"value":"`+canary+`"}}`).Revision(t))
}

// startEncryptedJournal starts a gateway, whose etcd has compacted all but the newest states.
func startEncryptedJournal(t *testing.T) *encryptedJournal {
	t.Helper()
	j := &encryptedJournal{file: filepath.Join(t.TempDir(), "encryption.yaml"), dir: filepath.Join(t.TempDir(), "journal"), plain: "a-value-that-is-not-encrypted"}
	j.encryptWith(t, secretbox("key1"))
	j.Gateway = gatewaytest.Start(t, "--encryption-provider-config", j.file, "--history-dir", j.dir)
	j.Create(t, "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"s","annotations":{"a":"`+j.plain+`"}}}`)
	j.Create(t, secrets, `{"metadata":{"name":"a"}}`)
	j.Create(t, configMaps, `{"metadata":{"name":"c"}}`)
	j.change(t)
	j.change(t)
	j.encryptWith(t, secretbox("key2"), secretbox("key1"))
	j.Hangup(t)
	gatewaytest.Until(t, "the new key is used", func() bool { return strings.Contains(j.Log(t), "a file has changed and is in use") })
	j.change(t)
	j.change(t)
	etcd := gatewaytest.DialEtcd(t, j.EtcdEndpoint)
	awaitJournal(t, j.Gateway, j.configMap[3], "/registry/")
	<-time.After(300 * time.Millisecond) // they are on the disk a moment later
	etcd.Compact(t, etcd.Revision(t))
	return j
}

// encryptedChange is a line of the history.
type encryptedChange struct {
	Type, Unreadable string
	Revision         int64
	Fields           []string
	Object           *gatewaytest.Object
}

func (j *encryptedJournal) changes(t *testing.T, query string) (out []encryptedChange) {
	t.Helper()
	a := j.Do(t, http.MethodGet, "/v1/history?namespace=default&"+query, "")
	for line := range strings.Lines(a.Body) {
		var c encryptedChange
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%s: %v", a.Body, err)
		}
		out = append(out, c)
	}
	if n := len(out); a.Code != http.StatusOK || n == 0 || out[n-1].Type != "END" {
		t.Fatalf("%s: %d %s", query, a.Code, a.Body)
	}
	return out[:len(out)-1]
}

// TestHistoryEncrypted checks that encrypted states are shown to those who may read them, also those of a former key; that a state whose key was removed
// is reported with the name of the key, and hides no other; and that nothing in the journal is decrypted.
func TestHistoryEncrypted(t *testing.T) {
	t.Parallel()
	j := startEncryptedJournal(t)
	for i, canary := range j.canaries {
		encoded := base64.StdEncoding.EncodeToString([]byte(canary))
		for path, want := range map[string]string{
			fmt.Sprintf("%s/a?at=%d", secrets, j.secret[i]):                                             encoded,
			fmt.Sprintf("%s?at=%d", secrets, j.secret[i]):                                               encoded,
			fmt.Sprintf("%s/c?at=%d", configMaps, j.configMap[i]):                                       canary,
			fmt.Sprintf("%s?resourceVersionMatch=Exact&resourceVersion=%d", configMaps, j.configMap[i]): canary,
		} {
			if a := j.Do(t, http.MethodGet, path, ""); a.Code != http.StatusOK || !strings.Contains(a.Body, want) {
				t.Errorf("%s: %d %s, want %s", path, a.Code, a.Body, want)
			}
		}
		if c := j.changes(t, "resource=secrets&name=a")[i+1]; c.Unreadable != "" || c.Revision != j.secret[i] || c.Object == nil || c.Object.Data["word"] != encoded {
			t.Errorf("change %d of the Secret: %+v", i, c)
		}
	}
	j.encryptWith(t, secretbox("key2"))
	j.Kill(t)
	j.Restart(t)
	j.checkWithoutKey(t)
	j.Stop(t)
	j.checkDisk(t)
}

// checkWithoutKey checks what is shown when the first key is removed.
func (j *encryptedJournal) checkWithoutKey(t *testing.T) {
	t.Helper()
	const name = "k8s:enc:secretbox:v1:key1:"
	for _, query := range []string{"resource=secrets&name=a", "resource=configmaps", "resource=configmaps&previous"} {
		changes := j.changes(t, query)
		if len(changes) != 5 {
			t.Fatalf("%s: %+v", query, changes)
		}
		for i, c := range changes {
			readable, before := i >= 3, i >= 4 // the creation and two changes have the removed key
			if (c.Unreadable == "") != before || !before && !strings.Contains(c.Unreadable, name) || (c.Object != nil) != readable || len(c.Fields) > 0 != before {
				t.Errorf("%s: change %d: %+v", query, i, c)
			}
		}
	}
	for path, code := range map[string]int{
		fmt.Sprintf("%s/a?at=%d", secrets, j.secret[0]):           http.StatusInternalServerError,
		fmt.Sprintf("%s?at=%d", configMaps, j.configMap[1]):       http.StatusInternalServerError,
		fmt.Sprintf("%s/a?at=%d", secrets, j.secret[2]):           http.StatusOK,
		fmt.Sprintf("%s?at=%d", configMaps, j.configMap[2]):       http.StatusOK,
		fmt.Sprintf("/api/v1/serviceaccounts?at=%d", j.secret[0]): http.StatusOK,
		secrets: http.StatusOK,
	} {
		if a := j.Do(t, http.MethodGet, path, ""); a.Code != code || code != http.StatusOK && !strings.Contains(a.Body, name) {
			t.Errorf("%s: %d %s, want %d", path, a.Code, a.Body, code)
		}
	}
	if got := gatewaytest.Metric(t, j.URL+"/metrics", `revtail_decryption_failing{resource="secrets"}`); got != "" {
		t.Errorf("the past makes revtail_decryption_failing %q", got)
	}
	for command, want := range map[string]string{"blame secret/a": "exit status 1", "history secret/a": "", "history cm/c -p": ""} {
		out, err := exec.CommandContext(t.Context(), gatewaytest.Binary(t), append(strings.Fields(command), "--server", j.URL)...).CombinedOutput() //nolint:gosec // the arguments are those of this test
		if got := fmt.Sprint(err); !strings.Contains(string(out), "cannot be decrypted: it begins with \""+name) || want == "" && err != nil || want != "" && got != want {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}

// checkDisk checks that the journal has no decrypted value, neither in its files nor in an export of all states.
func (j *encryptedJournal) checkDisk(t *testing.T) {
	t.Helper()
	export := filepath.Join(t.TempDir(), "export.ndjson")
	if out, err := exec.CommandContext(t.Context(), gatewaytest.Binary(t), "history", "export", "--history-dir", j.dir, export).CombinedOutput(); err != nil { //nolint:gosec // the arguments are those of this test
		t.Fatalf("%v: %s", err, out)
	}
	file, err := os.Open(export) //nolint:gosec // it was written above
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it is only read
	var values bytes.Buffer
	lines := bufio.NewScanner(file)
	for lines.Buffer(nil, 16<<20); lines.Scan(); {
		var line struct{ State, Event struct{ Value []byte } }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		values.Write(line.State.Value)
		values.Write(line.Event.Value)
	}
	decoded := filepath.Join(t.TempDir(), "values")
	writeFile(t, filepath.Join(decoded), values.String())
	if found := filesWith(t, decoded, j.plain); len(found) == 0 {
		t.Error("a value that is not encrypted is in no state: the test sees nothing")
	}
	for _, canary := range j.canaries {
		for _, folder := range []string{decoded, j.dir} {
			if found := filesWith(t, folder, canary); len(found) > 0 {
				t.Errorf("%s is in %s", canary, found)
			}
		}
	}
}
