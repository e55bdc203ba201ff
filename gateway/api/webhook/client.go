package webhook

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// Clients returns the function that makes the clients of webhooks, with a name and a bound on the answer, in bytes.
func Clients(userAgent string, maxAnswer int) webhookutil.AuthenticationInfoResolverWrapper {
	return func(anonymous webhookutil.AuthenticationInfoResolver) webhookutil.AuthenticationInfoResolver {
		return &webhookutil.AuthenticationInfoResolverDelegator{
			ClientConfigForFunc: func(hostPort string) (*rest.Config, error) {
				config, err := anonymous.ClientConfigFor(hostPort)
				if err != nil {
					return nil, err
				}
				config.UserAgent = userAgent
				config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next, maxAnswer} })
				return config, nil
			},
			ClientConfigForServiceFunc: func(name, namespace string, _ int) (*rest.Config, error) {
				return nil, ServiceError(name, namespace)
			},
		}
	}
}

// ServiceError returns the error of a webhook that is a Service: there is no network of Services here.
func ServiceError(name, namespace string) error {
	return fmt.Errorf("revtail does not resolve services such as %s/%s: use clientConfig.url", namespace, name)
}

// NoServices resolves no services.
type NoServices struct{}

// ResolveEndpoint implements webhookutil.ServiceResolver.
func (NoServices) ResolveEndpoint(namespace, name string, _ int32) (*url.URL, error) {
	return nil, ServiceError(name, namespace)
}

// bounded is a transport whose responses end after some bytes.
type bounded struct {
	next http.RoundTripper
	most int
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = &boundedBody{ReadCloser: response.Body, left: b.most}
	}
	return response, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

var errAnswerTooLarge = errors.New("the answer of the webhook is too large")

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return n, errAnswerTooLarge
	}
	return n, err
}
