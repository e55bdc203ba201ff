package change

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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
	"revtail/cmd/revtail/diff"
)

// session is what the commands have in common: flags, and the client of the gateway.
type session struct {
	gateway client.Config
	color   string

	client    *client.Client
	resources []client.Resource
	colors    diff.Printer
	stderr    io.Writer
	warned    map[string]bool
}

func (s *session) addFlags(cmd *cobra.Command) {
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&s.color, "color", "auto", "colours: auto (on a terminal, unless NO_COLOR is set), always or never")
	s.gateway.AddNamespaceFlag(set)
	s.gateway.AddFlags(set)
	completion.Gateway(cmd, &s.gateway)
	completion.Values(cmd, "color", "auto", "always", "never")
}

// connect reads the resources of the gateway. The caller closes the client. colored is where differences are printed.
func (s *session) connect(cmd *cobra.Command, colored io.Writer) (err error) {
	s.stderr, s.warned = cmd.ErrOrStderr(), make(map[string]bool)
	if s.colors.Colored, err = command.UseColor(s.color, colored); err != nil {
		return command.UsageError(err)
	}
	if s.client, err = client.New(s.gateway); err != nil {
		return command.UsageError(err)
	}
	if err = s.discover(cmd.Context()); err != nil {
		s.client.Close()
	}
	return err
}

func (s *session) discover(ctx context.Context) (err error) {
	if s.resources, err = s.client.Resources(ctx); err != nil {
		return fmt.Errorf("cannot read the resources of the gateway: %w", err)
	}
	return nil
}

func usageError(cmd *cobra.Command, format string, a ...any) error {
	return command.UsageError(fmt.Errorf(format+command.HelpHint(cmd), a...))
}

// fileFlags are the flags of commands that read objects from files.
type fileFlags struct {
	names     []string
	recursive bool
}

func (f *fileFlags) addFlags(set *pflag.FlagSet) {
	set.StringArrayVarP(&f.names, "filename", "f", nil, "`file`, folder or URL with objects in YAML or JSON, or - for the standard input; may be repeated")
	set.BoolVarP(&f.recursive, "recursive", "R", false, "read the folders in the folders of -f too")
}

// ref is an object of a resource.
type ref struct {
	resource        client.Resource
	namespace, name string // namespace is empty for a resource without namespaces
}

func (r ref) path() string { return r.resource.Path(r.namespace) + "/" + r.name }

// String is configmap/web.
func (r ref) String() string { return r.resource.ObjectName(r.name) }

// full is configmap/web -n shop.
func (r ref) full() string {
	if r.namespace == "" {
		return r.String()
	}
	return r.String() + " -n " + r.namespace
}

// requestTimeout bounds a request that is no watch.
const requestTimeout = time.Minute

// send sends a request, prints the warnings of the response, and returns its body.
func (s *session) send(ctx context.Context, method, path string, query url.Values, contentType string, body []byte) (code int, answer json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	header := http.Header{"Accept": {"application/json"}}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	resp, err := s.client.Do(ctx, client.Request{Method: method, Path: path, Query: query, Header: header, Body: body})
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	s.warn(resp.Header)
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// warn prints each warning once.
func (s *session) warn(header http.Header) {
	warnings, _ := utilnet.ParseWarningHeaders(header["Warning"]) // what cannot be parsed is no warning
	for _, w := range warnings {
		if !s.warned[w.Text] {
			s.warned[w.Text] = true
			_, _ = fmt.Fprintf(s.stderr, "Warning: %s\n", command.Printable(w.Text)) // the request is done without it
		}
	}
}

// get returns an object; nil: it does not exist.
func (s *session) get(ctx context.Context, path string) (json.RawMessage, error) {
	_, object, err := s.send(ctx, http.MethodGet, path, nil, "", nil)
	if client.HasCode(err, http.StatusNotFound) {
		return nil, nil
	}
	return object, err
}

// meta is the metadata that the commands need.
type meta struct {
	Metadata struct {
		Name, Namespace, UID, ResourceVersion string
		DeletionTimestamp                     string
		Finalizers                            []string
	}
}

func metaOf(object json.RawMessage) (meta, error) {
	var m meta
	if err := json.Unmarshal(object, &m); err != nil {
		return m, fmt.Errorf("this is no object: %w", err)
	}
	return m, nil
}

// explainConflict lists the fields of an apply that other managers own, and what can be done.
func explainConflict(name string, err error) error {
	status := (*client.StatusError)(nil)
	if !errors.As(err, &status) || status.Code != http.StatusConflict {
		return err
	}
	var fields []string
	for _, cause := range status.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			fields = append(fields, "\n  "+command.Printable(cause.Field)+": "+command.Printable(cause.Message))
		}
	}
	if len(fields) == 0 {
		return err
	}
	return fmt.Errorf("%s: other managers own fields of the file:%s\nTo leave the fields to them, remove them from the file, or write the values that they have now. To own the fields, add --force-conflicts",
		name, strings.Join(fields, ""))
}
