package authentication

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/yaml"
)

// tokensVersion is the required apiVersion of a token file.
const tokensVersion = "revtail/v1"

// maxTokens limits a token file, because each request is compared with all of its tokens.
const maxTokens = 10_000

// TokenEntry is a token in a token file, which has only its digest.
type TokenEntry struct {
	User    string     `json:"user"`
	UID     string     `json:"uid,omitempty"`
	Groups  []string   `json:"groups,omitempty"`
	SHA256  string     `json:"sha256"` // of the token, in hexadecimal
	Expires *time.Time `json:"expires,omitempty"`
}

// tokenFile is the YAML of a token file.
type tokenFile struct {
	APIVersion string       `json:"apiVersion"`
	Tokens     []TokenEntry `json:"tokens"`
}

// Tokens is the content of a token file. It is immutable.
type Tokens struct {
	entries  []token
	byDigest map[[sha256.Size]byte]*Identity
}

type token struct {
	digest   [sha256.Size]byte
	identity *Identity
}

// ParseTokens reads a token file. Errors name the entry by its number and user, and repeat no digest.
func ParseTokens(content []byte) (*Tokens, error) {
	var file tokenFile
	if err := yaml.UnmarshalStrict(content, &file); err != nil {
		return nil, errors.New("not a token file: want apiVersion, and tokens, each with user, sha256 and, where they apply, uid, groups and expires")
	}
	if file.APIVersion != tokensVersion {
		return nil, fmt.Errorf("want the line `apiVersion: %s`", tokensVersion)
	}
	if len(file.Tokens) > maxTokens {
		return nil, fmt.Errorf("more than %d tokens", maxTokens)
	}
	tokens := &Tokens{byDigest: make(map[[sha256.Size]byte]*Identity, len(file.Tokens))}
	for i, entry := range file.Tokens {
		parsed, err := entry.parse()
		if err == nil && tokens.byDigest[parsed.digest] != nil {
			err = errors.New("the same sha256 as another token")
		}
		if err != nil {
			return nil, fmt.Errorf("token %d, of user %.64q: %w", i+1, entry.User, err)
		}
		tokens.entries = append(tokens.entries, parsed)
		tokens.byDigest[parsed.digest] = parsed.identity
	}
	return tokens, nil
}

func (e TokenEntry) parse() (t token, err error) {
	if n, err := hex.Decode(t.digest[:], []byte(e.SHA256[:min(len(e.SHA256), 2*sha256.Size)])); err != nil || n != sha256.Size || len(e.SHA256) != 2*sha256.Size {
		return t, errors.New("sha256 is not 64 hexadecimal digits")
	}
	if t.digest == sha256.Sum256(nil) {
		return t, errors.New("sha256 is that of an empty token")
	}
	var expires time.Time
	if e.Expires != nil {
		expires = *e.Expires
	}
	t.identity, err = known(e.User, e.UID, e.Groups, expires)
	return t, err
}

// find returns the token of a text. Its duration does not depend on which token matches, so that tokens cannot be guessed by timing.
func (t *Tokens) find(text string, now time.Time) (found token, ok bool) {
	digest := sha256.Sum256([]byte(text))
	for i := range t.entries {
		if subtle.ConstantTimeCompare(t.entries[i].digest[:], digest[:]) == 1 {
			found = t.entries[i]
		}
	}
	return found, found.identity != nil && found.identity.Holds(now)
}

// has reports whether a token that an earlier file may have had is unchanged in this one.
func (t *Tokens) has(once token) bool {
	now, was := t.byDigest[once.digest], once.identity
	return now == was || now != nil && now.Name == was.Name && now.UID == was.UID && slices.Equal(now.Groups, was.Groups) &&
		now.Expires.Equal(was.Expires)
}

// NewToken returns a token of 256 random bits, and its entry: the given one with the digest.
func NewToken(entry TokenEntry) (string, TokenEntry) {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it never fails
	text := base64.RawURLEncoding.EncodeToString(random)
	digest := sha256.Sum256([]byte(text))
	entry.SHA256 = hex.EncodeToString(digest[:])
	return text, entry
}

// AppendToken appends an entry to the content of a token file, which may be empty. It keeps the existing content.
func AppendToken(content []byte, entry TokenEntry) ([]byte, error) {
	if len(content) == 0 {
		content = []byte("apiVersion: " + tokensVersion + "\ntokens:\n")
	}
	if _, err := ParseTokens(content); err != nil {
		return nil, err
	}
	if content[len(content)-1] != '\n' {
		content = append(content, '\n')
	}
	added, err := yaml.Marshal([]TokenEntry{entry})
	if err != nil {
		return nil, err
	}
	content = append(content, added...)
	_, err = ParseTokens(content)
	return content, err
}
