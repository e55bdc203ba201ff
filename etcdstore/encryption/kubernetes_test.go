package encryption_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/etcdstore"
	"revtail/etcdstore/embedded"
	"revtail/etcdstore/encryption"
	"revtail/gateway/gatewaytest"
)

// TestKubernetes checks that a kube-apiserver and this package read each other's values.
func TestKubernetes(t *testing.T) {
	config := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"
	kinds := map[string]string{"secrets": "aescbc", "configmaps": "aesgcm", "limitranges": "secretbox"}
	for plural, kind := range kinds {
		config += "- resources: [" + plural + "]\n  providers:\n" + provider(kind, "key1")
	}
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Tool(t, "kube-apiserver")
	server, err := embedded.Start(t.Context(), embedded.Config{DataDir: t.TempDir(), ClientURL: "http://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	kube := gatewaytest.StartKubeAPIServer(t, server.Endpoints()[0], "--encryption-provider-config", file)
	raw, err := etcdstore.Open(etcdstore.Config{Endpoints: server.Endpoints()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	providers, err := encryption.Load(t.Context(), file, []byte(config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(providers.Close)
	store := encryption.New(encryption.Config{Store: raw, Providers: func() *encryption.Providers { return providers }, Logger: slog.New(slog.DiscardHandler),
		Resource: func(key string) (schema.GroupResource, bool) {
			parts := strings.Split(key, "/")
			return schema.GroupResource{Resource: parts[2]}, true
		}})
	object := func(plural, name string) string {
		kind := map[string]string{"secrets": "Secret", "configmaps": "ConfigMap", "limitranges": "LimitRange"}[plural]
		return fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":%q,"namespace":"default","annotations":{"is":"canary"}}}`, kind, name)
	}
	for plural, kind := range kinds {
		collection := kube.URL + "/api/v1/namespaces/default/" + plural
		if code, body := ask(t, kube, http.MethodPost, collection, object(plural, "theirs")); code != http.StatusCreated {
			t.Fatalf("%s: %d %s", plural, code, body)
		}
		key := "/registry/" + plural + "/default/"
		if stored := get(t, raw, key+"theirs").Value; !bytes.HasPrefix(stored, []byte("k8s:enc:"+kind+":v1:key1:")) {
			t.Errorf("%s: the kube-apiserver stores %.40q", plural, stored)
		}
		if kv := get(t, store, key+"theirs"); kv.Unreadable != nil || kv.Stale || !bytes.HasPrefix(kv.Value, []byte("k8s\x00")) || !bytes.Contains(kv.Value, []byte("canary")) {
			t.Errorf("%s: its value is read as %q, %v", plural, kv.Value, kv.Unreadable)
		}
		if _, err := store.Create(t.Context(), key+"ours", []byte(object(plural, "ours"))); err != nil {
			t.Fatal(err)
		}
		if code, body := ask(t, kube, http.MethodGet, collection+"/ours", ""); code != http.StatusOK || !strings.Contains(body, "canary") {
			t.Errorf("%s: the kube-apiserver reads our value as %d %s", plural, code, body)
		}
	}
}

// ask sends a request to a kube-apiserver.
func ask(t *testing.T, kube *gatewaytest.KubeAPIServer, method, url, body string) (code int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+kube.Token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: kube.TLS}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	read, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(read)
}
