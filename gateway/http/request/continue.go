package request

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"revtail/etcdstore"
	"revtail/gateway/http/status"
)

// ContinueToken says where the next page of a list begins. Clients treat its text as opaque; it is that of kube-apiserver, and a
// seal, so that one that was changed, or is of another list, is refused. The seal is no secret: what a token can say, any request of
// who may list can say too, and all gateways must read those of one another.
type ContinueToken struct {
	// Revision is the one that all pages show; less than zero: the newest, since that one is not held any more.
	Revision etcdstore.Revision
	// After is the last key that was returned, below the request's own prefix: a token cannot lead out of its scope.
	After string

	seal string // as it was read
}

const tokenVersion = "meta.k8s.io/v1"

type tokenJSON struct {
	Version  string `json:"v"`
	Revision int64  `json:"rv"`
	Start    string `json:"start"`
	Seal     string `json:"seal"`
}

// sealFor is the seal of the token in the list of a scope: that of a resource, in a namespace or in all.
func (t ContinueToken) sealFor(list string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %q", list, t.Revision, t.After))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Text is the token as a client gets it with a page of a list.
func (t ContinueToken) Text(list string) string {
	text, err := json.Marshal(tokenJSON{tokenVersion, int64(t.Revision), t.After + "\x00", t.sealFor(list)})
	if err != nil {
		panic(err) // cannot be: strings and a number
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// Check refuses a token that is not one of this list.
func (t ContinueToken) Check(list string) error {
	if t.seal != t.sealFor(list) {
		return status.BadRequest("invalid continue token: continue key is not valid: it is not of this list")
	}
	return nil
}

// parseContinueToken is text's inverse. What it returns has to be checked.
func parseContinueToken(text string) (*ContinueToken, error) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, status.BadRequest("invalid continue token: continue key is not valid: %v", err)
	}
	var token tokenJSON
	if err := json.Unmarshal(decoded, &token); err != nil {
		return nil, status.BadRequest("invalid continue token: continue key is not valid: %v", err)
	}
	start := strings.TrimPrefix(token.Start, "/")
	switch {
	case token.Version != tokenVersion:
		return nil, status.BadRequest("invalid continue token: continue key is not valid: server does not recognize this encoded version %q", token.Version)
	case token.Revision == 0:
		return nil, status.BadRequest("invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version %s)", tokenVersion)
	case start == "":
		return nil, status.BadRequest("invalid continue token: continue key is not valid: encoded start key empty (version %s)", tokenVersion)
	case path.Clean("/"+start) != "/"+start:
		return nil, status.BadRequest("invalid continue token: continue key is not valid: %q", token.Start)
	}
	return &ContinueToken{Revision: etcdstore.Revision(token.Revision), After: strings.TrimSuffix(start, "\x00"), seal: token.Seal}, nil
}
