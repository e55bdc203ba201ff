package upstream

import (
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"

	"revtail/gateway/access"
	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
)

// headerTimeout is how long a kube-apiserver has for the header of the answer to a request that is not long-running. It is longer than its own
// limit, 60 s, so that its own error comes first.
const headerTimeout = 75 * time.Second

// Config configures a Proxy.
type Config struct {
	URL        *url.URL           // of the kube-apiserver; no request goes anywhere else
	Transports func() *Transports // the current ones
	Suspect    func()             // called when a request has failed
	Logger     *slog.Logger
}

// Proxy sends requests to the kube-apiserver. access.Control.Identify runs before it.
type Proxy struct {
	Config
	authorize func(*authentication.Identity, authorization.Attributes) error
	documents documents
	buffers   buffers
	errors    *log.Logger
	answers   *prometheus.CounterVec // of the kube-apiserver

	drain     context.Context // ends when long-running requests must end
	endStream context.CancelCauseFunc
}

// New returns a Proxy.
func New(config Config) *Proxy {
	p := &Proxy{Config: config, errors: slog.NewLogLogger(config.Logger.Handler(), slog.LevelDebug), answers: newAnswers()}
	p.drain, p.endStream = context.WithCancelCause(context.Background()) //nolint:forbidigo // it ends with Drain
	return p
}

// AuthorizeBy sets who decides whether a user may read a kept document. It is called before the first request.
func (p *Proxy) AuthorizeBy(authorize func(*authentication.Identity, authorization.Attributes) error) {
	p.authorize = authorize
}

var errDraining = errors.New("the server is shutting down")

// Drain ends the long-running requests, such as watches of aggregated APIs, exec and logs: their connections break, and clients connect again.
func (p *Proxy) Drain() { p.endStream(errDraining) }

// ServeHTTP sends a request to the kube-apiserver, and returns the answer as it comes.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := refuseAt(r); err != nil {
		response.WriteError(w, r, err)
		return
	}
	caller, transports := access.CallerOf(r), p.Transports()
	if caller.ByCertificate {
		if err := transports.CheckFrontProxy(r.Context(), p.URL); err != nil {
			p.Logger.Error("requests of users with a certificate cannot be forwarded", "error", err)
			p.Suspect()
			p.fail(w, r, &exchange{}, err)
			return
		}
	}
	e := &exchange{request: r, upgrade: request.WantsUpgrade(r)}
	e.longRunning = e.upgrade || access.InfoOf(r).IsLongRunning()
	ctx, end := p.limit(r.Context(), e)
	defer end()
	r = r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { e.sent.Store(true) }}))
	if e.longRunning {
		response.SetLongRunning(w)
		request.ClearBodyTimeout(w) // its body may take as long as the request
	} else {
		r.Body = &timedBody{r.Body, w}
	}
	e.setAside(w.Header())
	(&httputil.ReverseProxy{
		Rewrite:        func(out *httputil.ProxyRequest) { p.rewrite(out, caller, e.own.Get("Audit-Id")) },
		Transport:      transports.of(caller.ByCertificate, e.upgrade),
		FlushInterval:  -1, // events and logs reach the client as they come
		BufferPool:     &p.buffers,
		ErrorLog:       p.errors,
		ModifyResponse: func(answer *http.Response) error { return p.received(e, answer) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { // the request in the middle is the one to the kube-apiserver
			maps.Copy(w.Header(), e.own)
			p.fail(w, r, e, err)
		},
	}).ServeHTTP(w, r)
}

// rewrite makes the request to the kube-apiserver. The headers of the hop have been removed before, among them those that Connection names.
func (p *Proxy) rewrite(out *httputil.ProxyRequest, caller *access.Caller, auditID string) {
	out.SetURL(p.URL)
	if request.IsHead(out.In) {
		out.Out.Method = http.MethodHead
	}
	header := out.Out.Header
	removeFrontProxyHeaders(header)
	if caller.ByCertificate {
		nameUser(out.Out, caller.Identity)
	}
	header["X-Forwarded-For"] = out.In.Header["X-Forwarded-For"]
	out.SetXForwarded() // kube-apiserver's audit log has these addresses
	header.Del("X-Forwarded-Host")
	header.Del("X-Forwarded-Proto")
	header.Set("Audit-Id", auditID) // the same in both audit logs
	propagation.TraceContext{}.Inject(out.In.Context(), propagation.HeaderCarrier(header))
}

// exchange is a request that is forwarded.
type exchange struct {
	request     *http.Request
	upgrade     bool
	longRunning bool
	sent        atomic.Bool // the request may have reached the kube-apiserver
	answered    func()      // called when the header of the answer is here
	own         http.Header // headers of the response that the answer replaces, for an error
}

// setAside removes the headers of a response that the answer brings.
func (e *exchange) setAside(header http.Header) {
	e.own = make(http.Header)
	for _, name := range []string{"Audit-Id", "Cache-Control", "X-Content-Type-Options"} {
		if values, ok := header[name]; ok {
			e.own[name] = values
			delete(header, name)
		}
	}
}

var errNoHeader = errors.New("no answer in time")

// limit returns the context of a request: a long-running one ends when the server drains, another one if the header of the answer does not come.
func (p *Proxy) limit(parent context.Context, e *exchange) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	if e.longRunning {
		stop := context.AfterFunc(p.drain, func() { cancel(errDraining) })
		e.answered = func() {}
		return ctx, func() { stop(); cancel(context.Canceled) }
	}
	timer := time.AfterFunc(headerTimeout, func() { cancel(errNoHeader) })
	e.answered = func() { timer.Stop() }
	return ctx, func() { timer.Stop(); cancel(context.Canceled) }
}

// received is called with the header of an answer. Something else than a kube-apiserver, such as a load balancer without one, is a failure.
func (p *Proxy) received(e *exchange, answer *http.Response) error {
	e.answered()
	if answer.StatusCode >= http.StatusBadGateway && answer.StatusCode <= http.StatusGatewayTimeout && answer.Header.Get("Audit-Id") == "" {
		return errGateway
	}
	if p.count(answer.StatusCode); answer.StatusCode == http.StatusSwitchingProtocols {
		access.RequestLogOf(e.request).SetUpgraded()
		keepUpgraded(answer)
	}
	p.startKeeping(e, answer)
	return nil
}

// timedBody is a body whose time is limited until its end. The read that waits for the end of the connection has no limit.
type timedBody struct {
	io.ReadCloser
	response http.ResponseWriter
}

func (b *timedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err == io.EOF {
		request.ClearBodyTimeout(b.response)
	}
	return n, err
}

// buffers are the buffers of bodies.
type buffers struct{ pool sync.Pool }

const bufferSize = 32 << 10

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, bufferSize)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }
