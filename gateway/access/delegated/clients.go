package delegated

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/webhook"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// decisionTTL is how long a decision of the kube-apiserver is used without asking again, as in the aggregated servers of Kubernetes.
	decisionTTL = 10 * time.Second
	// reviewTimeout limits one question to the kube-apiserver.
	reviewTimeout = 5 * time.Second
	// maxTokenReviews is how many tokens are reviewed at the same time, because strangers can send tokens.
	maxTokenReviews = 64
)

// retry is for a connection that broke. A kube-apiserver that is away is no reason to let requests wait.
var retry = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 2}

// Clients ask one kube-apiserver with one identity.
type Clients struct {
	tokens     authenticator.Token   // decides as in the last decisionTTL
	authorizer authorizer.Authorizer // the same
	http       *http.Client
	url        string

	// They ask each time.
	newestTokens     authenticator.Token
	newestAuthorizer authorizer.Authorizer
}

// ParseKubeconfig returns the configuration of clients with the identity of a kubeconfig, whose file is at path. They trust the authorities of
// bundle, else those of the kubeconfig, and send requests to server only, whatever server the kubeconfig names.
func ParseKubeconfig(content []byte, path, server string, bundle []byte) (*rest.Config, error) {
	file, err := clientcmd.Load(content)
	if err != nil {
		return nil, err
	}
	for _, cluster := range file.Clusters {
		cluster.LocationOfOrigin = path
		cluster.Server = server // otherwise a token is left out if the kubeconfig names an http URL
		if cluster.InsecureSkipTLSVerify {
			return nil, errors.New("insecure-skip-tls-verify is not accepted: name the authorities of the kube-apiserver's certificate")
		}
	}
	for _, user := range file.AuthInfos {
		user.LocationOfOrigin = path
		if user.Impersonate != "" {
			return nil, errors.New("impersonation is not accepted in this file")
		}
	}
	if err := clientcmd.ResolveLocalPaths(file); err != nil {
		return nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*file, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, err
	}
	return restrict(config, server, bundle), nil
}

// InCluster returns the configuration of clients with the service account of the Pod that the process runs in.
func InCluster(server string, bundle []byte) (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, err
	}
	return restrict(config, server, bundle), nil
}

// restrict makes a configuration one for a server and the authorities of its certificate, and limits the time of requests.
func restrict(config *rest.Config, server string, bundle []byte) *rest.Config {
	config.Host, config.APIPath = server, ""
	config.ServerName = ""
	if len(bundle) > 0 {
		config.CAData, config.CAFile = bundle, ""
	}
	config.Timeout, config.QPS, config.UserAgent = reviewTimeout, -1, "revtail"
	return config
}

// NewClients returns clients with a configuration. They send no request yet.
func NewClients(config *rest.Config) (*Clients, error) {
	if u, err := url.Parse(config.Host); err != nil || u.Scheme != "https" {
		return nil, fmt.Errorf("%s: want an https URL", config.Host)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	authentication, err := authenticationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	authorization, err := authorizationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	tokens, err := webhook.NewFromInterface(authentication, nil, retry, reviewTimeout, webhook.AuthenticatorMetrics{
		RecordRequestTotal: recordCode, RecordRequestLatency: func(context.Context, string, float64) {},
	})
	if err != nil {
		return nil, err
	}
	reviewed := &reviews{next: tokens, seats: make(chan struct{}, maxTokenReviews)}
	decisions := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: authorization, AllowCacheTTL: decisionTTL, DenyCacheTTL: decisionTTL, WebhookRetryBackoff: &retry,
	}
	cached, err := decisions.New()
	if err != nil {
		return nil, err
	}
	decisions.AllowCacheTTL, decisions.DenyCacheTTL = 0, 0
	newest, err := decisions.New()
	if err != nil {
		return nil, err
	}
	return &Clients{tokens: cache.New(reviewed, false, decisionTTL, decisionTTL), authorizer: cached, http: client, url: config.Host,
		newestTokens: reviewed, newestAuthorizer: newest}, nil
}

// checkedUser is the user about whom CheckRights asks. It need not exist.
const checkedUser = "system:revtail:check"

// CheckRights returns an error unless the kube-apiserver lets these clients create TokenReviews and SubjectAccessReviews.
func (c *Clients) CheckRights(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*reviewTimeout)
	defer cancel()
	if _, _, err := c.tokens.AuthenticateToken(ctx, checkedUser); err != nil {
		return fmt.Errorf("a TokenReview: %w", err)
	}
	about := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: checkedUser}, Verb: "get", ResourceRequest: true, APIVersion: "v1", Resource: "pods"}
	if _, _, err := c.authorizer.Authorize(ctx, about); err != nil {
		return fmt.Errorf("a SubjectAccessReview: %w", err)
	}
	return nil
}

type codeKey struct{}

// recordCode stores the code of a response in a context of reviews.
func recordCode(ctx context.Context, code string) {
	if stored, ok := ctx.Value(codeKey{}).(*string); ok {
		*stored = code
	}
}

// reviews limits the reviews at the same time, and tells a refused token from a review that failed: the authenticator of Kubernetes returns an
// error for both.
type reviews struct {
	next  authenticator.Token
	seats chan struct{}
}

// AuthenticateToken implements authenticator.Token. The error is nil if the kube-apiserver has decided.
func (r *reviews) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	select {
	case r.seats <- struct{}{}:
		defer func() { <-r.seats }()
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	code := ""
	answer, ok, err := r.next.AuthenticateToken(context.WithValue(ctx, codeKey{}, &code), token)
	if err != nil && (code == "201" || code == "200") {
		return nil, false, nil // the error says why the token is refused, which the client must not know
	}
	return answer, ok, err
}
