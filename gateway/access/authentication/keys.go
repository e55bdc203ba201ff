package authentication

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

const (
	// keysAge is the interval of fetching the keys, and so how long a withdrawn key is accepted.
	keysAge = 5 * time.Minute
	// keysLimit is the age of the keys from which no token is accepted, while the issuer cannot be reached.
	keysLimit = time.Hour
	// keysPause is the minimum time between two fetches because of unknown keys.
	keysPause = 10 * time.Second
	// fetchTimeout limits a fetch, and the wait of a request for one.
	fetchTimeout = 5 * time.Second
	// maxDocument limits the responses of an issuer, in bytes.
	maxDocument = 1 << 20
)

// algorithms are the asymmetric ones, with which only the issuer can sign. "none" and shared secrets are not accepted.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512, jose.PS256, jose.PS384, jose.PS512, jose.EdDSA,
}

func algorithmNames() []string {
	names := make([]string, len(algorithms))
	for i, a := range algorithms {
		names[i] = string(a)
	}
	return names
}

var errUnknownKey = errors.New("the token is signed with a key that is not known")

// keys are the public keys of an issuer. One goroutine fetches them, at most every keysPause. A request with an unknown key waits for the
// next fetch, if that is soon.
type keys struct {
	issuer string
	client *http.Client
	logger *slog.Logger
	wanted chan struct{} // holds one request to fetch

	mu      sync.Mutex // guards the fields below
	known   []jose.JSONWebKey
	fetched time.Time     // time of known; zero: never
	last    time.Time     // time of the last try
	tried   chan struct{} // closed and replaced after each try
}

var _ oidc.KeySet = (*keys)(nil)

func newKeys(issuer string, client *http.Client, logger *slog.Logger) *keys {
	if client == nil {
		client = &http.Client{}
	}
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // only the configured URL is trusted
	return &keys{issuer: issuer, client: &own, logger: logger, wanted: make(chan struct{}, 1), tried: make(chan struct{})}
}

// VerifySignature implements oidc.KeySet.
func (k *keys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, err
	}
	if len(signed.Signatures) != 1 {
		return nil, errors.New("want one signature")
	}
	id := signed.Signatures[0].Header.KeyID
	now := time.Now()
	candidates, tried := k.find(id, now)
	if len(candidates) == 0 {
		select {
		case k.wanted <- struct{}{}:
		default:
		}
		waiting, cancel := context.WithTimeout(ctx, fetchTimeout)
		defer cancel()
		select {
		case <-tried:
		case <-waiting.Done():
		}
		candidates, _ = k.find(id, now)
	}
	for _, key := range candidates {
		if payload, err := signed.Verify(key); err == nil {
			return payload, nil
		}
	}
	return nil, errUnknownKey
}

// find returns the keys with an id, and a channel that is closed after the next fetch. The channel is closed already if keysPause delays
// that fetch.
func (k *keys) find(id string, now time.Time) (candidates []jose.JSONWebKey, tried <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.fetched) < keysLimit {
		for _, key := range k.known {
			if id == "" || key.KeyID == id {
				candidates = append(candidates, key)
			}
		}
	}
	if now.Sub(k.last) < keysPause {
		return candidates, closed
	}
	return candidates, k.tried
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// run fetches keys until ctx ends.
func (k *keys) run(ctx context.Context) error {
	trouble := ""
	for {
		next := keysAge
		err := k.fetch(ctx)
		switch {
		case err == nil && trouble != "":
			k.logger.Info("the keys of the issuer are known again", "issuer", k.issuer)
			trouble = ""
		case err != nil && ctx.Err() == nil:
			if next = keysPause; err.Error() != trouble {
				trouble = err.Error()
				k.logger.Warn("the keys of the issuer cannot be fetched: tokens with new keys are refused, after an hour all", "issuer", k.issuer, "error", err)
			}
		}
		k.mu.Lock()
		close(k.tried)
		k.tried, k.last = make(chan struct{}), time.Now()
		k.mu.Unlock()
		if !wait(ctx, keysPause, nil) || !wait(ctx, next-keysPause, k.wanted) {
			return nil
		}
	}
}

// wait waits for a time or a value of wake, and reports whether ctx has not ended.
func wait(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	select {
	case <-time.After(d):
		return true
	case <-wake:
		return true
	case <-ctx.Done():
		return false
	}
}

// fetch requests the configuration document of the issuer, and the keys at the URL in it.
func (k *keys) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	var found struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := k.get(ctx, strings.TrimSuffix(k.issuer, "/")+"/.well-known/openid-configuration", &found); err != nil {
		return err
	}
	if found.Issuer != k.issuer {
		return fmt.Errorf("the issuer calls itself %.200q, not %q", found.Issuer, k.issuer)
	}
	if !strings.HasPrefix(found.Keys, "https://") {
		return fmt.Errorf("the issuer's keys are at %.200q, which is not HTTPS", found.Keys)
	}
	var set struct{ Keys []json.RawMessage }
	if err := k.get(ctx, found.Keys, &set); err != nil {
		return err
	}
	var usable []jose.JSONWebKey
	for _, text := range set.Keys {
		var key jose.JSONWebKey
		// An unknown type of key does not make the other keys unusable.
		if key.UnmarshalJSON(text) == nil && key.Valid() && key.IsPublic() && (key.Use == "" || key.Use == "sig") {
			usable = append(usable, key)
		}
	}
	if len(usable) == 0 {
		return errors.New("the issuer shows no key to verify signatures with")
	}
	k.mu.Lock()
	k.known, k.fetched = usable, time.Now()
	k.mu.Unlock()
	return nil
}

func (k *keys) get(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := k.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	if len(body) > maxDocument {
		return fmt.Errorf("%s: more than %d bytes", url, maxDocument)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: not the JSON that it should be", url)
	}
	return nil
}
