package admission

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// maxAnswer bounds the answer of a webhook, in bytes: an object of the largest size, as a patch in base64.
const maxAnswer = 8 << 20

// boundedWebhooks makes the clients of webhooks: without credentials, with a bound on the answer, and for URLs only.
func boundedWebhooks(anonymous webhookutil.AuthenticationInfoResolver) webhookutil.AuthenticationInfoResolver {
	return &webhookutil.AuthenticationInfoResolverDelegator{
		ClientConfigForFunc: func(hostPort string) (*rest.Config, error) {
			config, err := anonymous.ClientConfigFor(hostPort)
			if err != nil {
				return nil, err
			}
			config.UserAgent = "revtail-admission"
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next} })
			return config, nil
		},
		ClientConfigForServiceFunc: func(name, namespace string, _ int) (*rest.Config, error) {
			return nil, errService(name, namespace)
		},
	}
}

func errService(name, namespace string) error {
	return fmt.Errorf("revtail does not resolve services such as %s/%s: use clientConfig.url", namespace, name)
}

// noServices resolves no services.
type noServices struct{}

// ResolveEndpoint implements webhookutil.ServiceResolver.
func (noServices) ResolveEndpoint(namespace, name string, _ int32) (*url.URL, error) {
	return nil, errService(name, namespace)
}

// bounded is a transport whose responses end after maxAnswer bytes, and that follows no redirect to another place.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = &boundedBody{ReadCloser: response.Body, left: maxAnswer}
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
