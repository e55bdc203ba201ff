package serviceaccount

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// The paths of the documents with which other programs verify tokens (OpenID Connect Discovery 1.0).
const (
	ConfigurationPath = "/.well-known/openid-configuration"
	KeysPath          = "/openid/v1/jwks"
)

// discoverable reports whether clients can find the documents of an issuer: it is an https URL without a query.
func discoverable(issuer string) bool {
	u, err := url.Parse(issuer)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.RawQuery+u.Fragment == ""
}

// ServeConfiguration answers with the discovery document of the first issuer; 404: that is no https URL, so that no client can look for it.
func (i *Issuer) ServeConfiguration(w http.ResponseWriter, r *http.Request) {
	issuer := i.Issuers[0]
	if !discoverable(issuer) {
		http.NotFound(w, r)
		return
	}
	used := []string{}
	for _, algorithm := range algorithms {
		for _, key := range i.Keys.Get().public {
			if key.Algorithm == string(algorithm) {
				used = append(used, key.Algorithm)
				break
			}
		}
	}
	serve(w, "application/json", struct {
		Issuer     string   `json:"issuer"`
		Keys       string   `json:"jwks_uri"`
		Responses  []string `json:"response_types_supported"`
		Subjects   []string `json:"subject_types_supported"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}{issuer, strings.TrimSuffix(issuer, "/") + KeysPath, []string{"id_token"}, []string{"public"}, used})
}

// ServeKeys answers with the public keys.
func (i *Issuer) ServeKeys(w http.ResponseWriter, _ *http.Request) {
	serve(w, "application/jwk-set+json", jose.JSONWebKeySet{Keys: i.Keys.Get().public})
}

// serve answers with a document that caches keep for five minutes, because keys may be replaced while the gateway runs.
func serve(w http.ResponseWriter, contentType string, document any) {
	text, err := json.Marshal(document)
	if err != nil {
		http.Error(w, "the document cannot be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "public, max-age=300")
	_, _ = w.Write(text) // the client may have gone away
}
