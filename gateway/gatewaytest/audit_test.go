package gatewaytest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// auditRecord has the fields of a record that the tests check.
type auditRecord struct {
	Kind, Stage, RequestURI, Verb string
	User                          struct{ Username string }
	ObjectRef                     struct{ Resource, Namespace, Name string }
	ResponseStatus                struct{ Code int }
	Annotations                   map[string]string
}

func (r auditRecord) String() string {
	return fmt.Sprintf("%s %s %s %s/%s/%s %d %s", r.Stage, r.User.Username, r.Verb, r.ObjectRef.Namespace, r.ObjectRef.Resource, r.ObjectRef.Name,
		r.ResponseStatus.Code, r.Annotations["authorization.k8s.io/decision"])
}

func readAudit(t *testing.T, file string) (records []auditRecord) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		var r auditRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Kind != "Event" {
			t.Fatalf("%q: %v", line, err)
		}
		records = append(records, r)
	}
	return records
}

// TestAudit checks that there is one record for each request, two for a watch, and none for a health check.
func TestAudit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.log")
	g := startGuarded(t, false, []string{"root", "reader"}, role("reader", reader)+bind("root", "cluster-admin")+bind("reader", "reader"), "--audit-log-path", file)
	root, watcher := g.user("root"), g.user("reader")
	root.Create(t, configMaps, gatewaytest.ConfigMap("one", ""))
	watch := watcher.Watch(t, configMaps+"?watch=1&labelSelector=a%3Db")
	gatewaytest.Until(t, "the watch's record", func() bool { return len(readAudit(t, file)) == 2 }) // its header is sent before that
	watcher.Do(t, http.MethodGet, "/api/v1/secrets", "")
	watcher.Do(t, http.MethodPut, configMaps+"/one", "")
	root.Do(t, http.MethodGet, "/nowhere", "")
	g.As("wrong").Do(t, http.MethodGet, configMaps, "")
	g.As("").Do(t, http.MethodGet, "/readyz", "")
	watcher.Do(t, http.MethodHead, configMaps+"?watch=1", "")
	watch.Close()
	want := []string{
		"ResponseComplete root create default/configmaps/ 201 allow",
		"ResponseStarted reader watch default/configmaps/ 200 allow",
		"ResponseComplete reader list /secrets/ 403 forbid",
		"ResponseComplete reader update default/configmaps/one 403 forbid",
		"ResponseComplete root get // 404 allow",
		"ResponseComplete  GET // 401 ",
		"ResponseComplete reader watch default/configmaps/ 200 allow", // HEAD: no stream began
		"ResponseComplete reader watch default/configmaps/ 200 allow",
	}
	gatewaytest.Until(t, "the records", func() bool { return len(readAudit(t, file)) >= len(want) })
	for i, record := range readAudit(t, file) {
		if i >= len(want) || record.String() != want[i] || strings.Contains(record.RequestURI, "?") {
			t.Errorf("record %d is %v of %s, want %s", i, record, record.RequestURI, want[min(i, len(want)-1)])
		}
	}

	// Another program rotates the file.
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	g.Hangup(t)
	gatewaytest.Until(t, "a record in a new file", func() bool {
		root.Do(t, http.MethodGet, "/version", "")
		_, err := os.Stat(file)
		return err == nil && len(readAudit(t, file)) > 0
	})
}

// TestAuditOfKeys checks that the record of a request has its keys, in any form of the request, the operation, and the decision.
func TestAuditOfKeys(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.log")
	g := startGuarded(t, false, []string{"writer"}, role("write", `{verbs: ["*"], keys: [/app/]}`)+"---\n"+bind("writer", "write"), "--audit-log-path", file)
	writer := g.user("writer")
	for _, request := range [][3]string{
		{"PUT", "/v1/keys/app/a", "canary-of-a-value"},
		{"GET", "/v1/keys?key=/app/a", ""},
		{"GET", "/v1/keys?wait=1ms&since=1&key=/app/a&key=/app/b/", ""},
		{"GET", "/v1/keys?key64=L290aGVy", ""},
		{"POST", "/v1/txn", `{"compare":[{"key":"/app/a","value":"canary-of-a-value"}],"then":[{"put":{"key":"/app/b","value":1}}],"else":[{"delete":{"key":"/app/","prefix":true}}]}`},
		{"POST", "/v1/txn", `{"then":[{"get":{"key":"/app/a"}},{"put":{"key":"/other","value":1}}]}`},
	} {
		writer.Do(t, request[0], request[1], request[2])
	}
	want := []string{
		"200 allow update /app/a",
		"200 allow get /app/a",
		"200 allow watch /app/a, watch /app/b/",
		"403 forbid get /other",
		"200 allow get /app/a, update /app/b, delete /app/",
		"403 forbid get /app/a, update /other",
	}
	var records []auditRecord
	gatewaytest.Until(t, "the records", func() bool {
		records = slices.DeleteFunc(readAudit(t, file), func(r auditRecord) bool { return r.Stage != "ResponseComplete" })
		return len(records) >= len(want)
	})
	for i, r := range records {
		got := fmt.Sprintf("%d %s %s", r.ResponseStatus.Code, r.Annotations["authorization.k8s.io/decision"], r.Annotations["revtail/keys"])
		if i >= len(want) || got != want[i] {
			t.Errorf("record %d: %s, want %s", i, got, want[min(i, len(want)-1)])
		}
	}
}

// TestSecretsAreNotWritten searches for tokens and values in all output of the program, while clients misuse them.
func TestSecretsAreNotWritten(t *testing.T) {
	t.Parallel()
	const value, wrong = "canary-of-a-value", "canary-of-a-wrong-token"
	file := filepath.Join(t.TempDir(), "audit.log")
	g := startGuarded(t, false, []string{"canary"}, bind("canary", "cluster-admin"), "--audit-log-path", file, "--audit-level", "request")
	const token = "token-of-canary"
	user := g.user("canary")
	secrets := "/api/v1/namespaces/default/secrets"
	user.Create(t, secrets, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"},"stringData":{"x":"`+value+`"}}`)
	user.Patch(t, secrets+"/a", `{"stringData":{"x":"`+value+`2"}}`)
	watch := user.Watch(t, secrets+"?watch=1")
	watch.Next(t)
	user.Do(t, http.MethodPut, secrets+"/a", `{"kind":"Secret","data":{"x":"`+value+`"`)
	user.Do(t, http.MethodPost, secrets, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"b"},"data":"`+value+`"}`)
	encoded := base64.RawURLEncoding.EncodeToString([]byte(wrong))
	answers := []string{
		g.As(wrong).Do(t, http.MethodGet, secrets, "").Body,
		user.Do(t, http.MethodGet, secrets+"?token="+token+"&access_token="+token+"&limit=x", "").Body,
		user.Do(t, http.MethodGet, secrets+"?Token="+token+"&TICKET="+token+"&T%4fken="+token+"&limit=x", "").Body,
		g.As("").Do(t, http.MethodGet, secrets+"?ticket="+wrong, "").Body,
		g.As("").Do(t, http.MethodGet, secrets+"?%74icket="+wrong+"&labelSelector=in%20"+"in", "").Body,
	}
	for _, header := range []string{"Authorization: Basic " + wrong, "Authorization: Bearer " + wrong + "\x01", "Authorization: " + wrong, "Cookie: session=" + wrong,
		"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io." + encoded} {
		answers = append(answers, firstLine(t, g.Gateway, "GET "+secrets+"?watch=1 HTTP/1.1\r\nHost: localhost\r\n"+header+"\r\nContent-Length: 0\r\n\r\n"))
	}
	metrics := user.Do(t, http.MethodGet, "/metrics", "").Body
	replaceFile(t, g.tokens, []byte("apiVersion: revtail/v1\ntokens: [{user: canary, token: "+wrong+"}]\n"))
	g.Hangup(t)
	gatewaytest.Until(t, "the refusal in the log", func() bool { return strings.Contains(g.Log(t), "cannot be used") })
	replaceFile(t, g.policy, []byte("apiVersion: v1\nkind: Secret\ndata: {x: "+wrong+"}\n"))
	g.Hangup(t)
	g.Terminate(t)
	g.Exit(t)
	records, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(readAudit(t, file)) < 10 || !strings.Contains(string(records), "token=hidden") {
		t.Errorf("the audit log lacks its records: %s", records)
	}
	hidden := []string{token, wrong, encoded, digest(token), value, base64.StdEncoding.EncodeToString([]byte(value))[:20]}
	for place, text := range map[string]string{"log": g.Log(t), "audit log": string(records), "metrics": metrics, "answers": strings.Join(answers, "\n")} {
		for _, secret := range hidden {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s: has %s: …%s", place, secret, text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
}
