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

// ContinueToken is where the next page of a list begins. Its text is that of kube-apiserver with a checksum, by which a token that was
// changed, or is of another list, is refused. The checksum needs no secret, because a token lets a client do nothing that a list does
// not, and every gateway must accept the tokens of the others.
type ContinueToken struct {
	// Revision is that of all pages; negative: the newest, because the revision of the first page has been compacted.
	Revision etcdstore.Revision
	// After is the last key of the page before, relative to the prefix of the request, so that a token cannot leave its scope.
	After string

	checksum string // as received
}

const tokenVersion = "meta.k8s.io/v1"

type tokenJSON struct {
	Version  string `json:"v"`
	Revision int64  `json:"rv"`
	Start    string `json:"start"`
	Checksum string `json:"seal"`
}

// checksumFor returns the checksum of the token for a list, which is a resource and a namespace, or all namespaces.
func (t ContinueToken) checksumFor(list string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %q", list, t.Revision, t.After))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Text encodes the token for a list.
func (t ContinueToken) Text(list string) string {
	text, err := json.Marshal(tokenJSON{tokenVersion, int64(t.Revision), t.After + "\x00", t.checksumFor(list)})
	if err != nil {
		panic(err) // strings and a number can always be encoded
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// Check returns a Status, 400, unless the token is of this list.
func (t ContinueToken) Check(list string) error {
	if t.checksum != t.checksumFor(list) {
		return status.BadRequest("invalid continue token: continue key is not valid: it is not of this list")
	}
	return nil
}

// parseContinueToken is the inverse of Text. The caller calls Check.
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
	return &ContinueToken{Revision: etcdstore.Revision(token.Revision), After: strings.TrimSuffix(start, "\x00"), checksum: token.Checksum}, nil
}
