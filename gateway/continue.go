package gateway

import (
	"encoding/base64"
	"encoding/json"
	"path"
	"strings"

	"revtail/etcdstore"
)

// continueToken says where the next page of a list begins. Clients treat its text as opaque; it is that of kube-apiserver.
type continueToken struct {
	// Revision is the one that all pages show; less than zero: the newest, since that one is not held any more.
	Revision etcdstore.Revision
	// After is the last key that was returned, below the request's own prefix: a token cannot lead out of its scope.
	After string
}

const tokenVersion = "meta.k8s.io/v1"

type tokenJSON struct {
	Version  string `json:"v"`
	Revision int64  `json:"rv"`
	Start    string `json:"start"`
}

func (t continueToken) String() string {
	text, err := json.Marshal(tokenJSON{tokenVersion, int64(t.Revision), t.After + "\x00"})
	if err != nil {
		panic(err) // cannot be: two strings and a number
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseContinueToken is String's inverse.
func parseContinueToken(text string) (*continueToken, error) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, badRequest("invalid continue token: continue key is not valid: %v", err)
	}
	var token tokenJSON
	if err := json.Unmarshal(decoded, &token); err != nil {
		return nil, badRequest("invalid continue token: continue key is not valid: %v", err)
	}
	start := strings.TrimPrefix(token.Start, "/")
	switch {
	case token.Version != tokenVersion:
		return nil, badRequest("invalid continue token: continue key is not valid: server does not recognize this encoded version %q", token.Version)
	case token.Revision == 0:
		return nil, badRequest("invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version %s)", tokenVersion)
	case start == "":
		return nil, badRequest("invalid continue token: continue key is not valid: encoded start key empty (version %s)", tokenVersion)
	case path.Clean("/"+start) != "/"+start:
		return nil, badRequest("invalid continue token: continue key is not valid: %q", token.Start)
	}
	return &continueToken{Revision: etcdstore.Revision(token.Revision), After: strings.TrimSuffix(start, "\x00")}, nil
}
