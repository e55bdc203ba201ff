package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/transport"

	"revtail/gateway/access/authentication"
)

// frontProxyPrefix begins the headers that name a user whom a front proxy has authenticated. A client that sends them claims to be a proxy.
const frontProxyPrefix = "X-Remote-"

// removeFrontProxyHeaders removes the headers of a client.
func removeFrontProxyHeaders(header http.Header) {
	for name := range header {
		if len(name) >= len(frontProxyPrefix) && strings.EqualFold(name[:len(frontProxyPrefix)], frontProxyPrefix) {
			delete(header, name)
		}
	}
}

// nameUser names the user of a request in the front-proxy headers. No other credential goes with it, because a kube-apiserver that does not accept
// the front proxy would use that one.
func nameUser(r *http.Request, identity *authentication.Identity) {
	r.Header.Del("Authorization")
	transport.SetAuthProxyHeaders(r, identity.Name, identity.UID, identity.Groups, identity.Extra)
}

// probeUser is the user of the request with which CheckFrontProxy asks whom the kube-apiserver sees. It has no rights.
const probeUser = "system:revtail:front-proxy-check"

const (
	checkTimeout   = 5 * time.Second
	maxCheckAnswer = 64 << 10
)

// errFrontProxy is the reason why the requests of a user with a certificate are not forwarded.
var errFrontProxy = errors.New("the kube-apiserver does not accept the front-proxy certificate")

// CheckFrontProxy makes sure, once, that the kube-apiserver takes the user of a request from the headers. One that does not might take the
// front-proxy certificate for that of a user, and clients would act as that user.
func (t *Transports) CheckFrontProxy(ctx context.Context, server *url.URL) error {
	if !t.has {
		return fmt.Errorf("%w: there is none", errFrontProxy)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.accepted {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	defer cancel()
	err := t.askWhoAmI(ctx, server)
	t.accepted = err == nil
	return err
}

func (t *Transports) askWhoAmI(ctx context.Context, server *url.URL) error {
	target := server.JoinPath("/apis/authentication.k8s.io/v1/selfsubjectreviews").String()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	nameUser(req, &authentication.Identity{Name: probeUser, Groups: []string{authentication.AuthenticatedAll}})
	resp, err := t.frontProxy.usual.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxCheckAnswer))
	if err != nil {
		return err
	}
	var review authenticationv1.SelfSubjectReview
	switch {
	case resp.StatusCode == http.StatusCreated && json.Unmarshal(body, &review) == nil && review.Status.UserInfo.Username == probeUser:
		return nil
	case resp.StatusCode == http.StatusForbidden && strings.Contains(string(body), probeUser): // it knows the user, who may not ask
		return nil
	case resp.StatusCode >= http.StatusInternalServerError, resp.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return fmt.Errorf("%w: it answers %s to a user that the certificate vouches for; sign the certificate with --requestheader-client-ca-file, "+
		"and name it in --requestheader-allowed-names", errFrontProxy, resp.Status)
}
