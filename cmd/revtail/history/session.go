package history

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
	"revtail/cmd/revtail/diff"
	"revtail/cmd/revtail/history/historyapi"
	"revtail/etcdstore/redaction"
)

// session is what the commands have in common: flags, and the client of the gateway.
type session struct {
	gateway client.Config
	color   string
	redact  string
	key     redaction.Key // of the digests of redacted values

	client    *client.Client
	resources []client.Resource
	colors    diff.Printer
}

// The values of --redact.
const (
	redactSecrets = "secrets"
	redactNone    = "none"
)

func (s *session) addFlags(cmd *cobra.Command) {
	set := cmd.Flags()
	set.SortFlags = false
	s.key = redaction.NewKey()
	set.StringVar(&s.redact, "redact", redactSecrets, "`what` is replaced by a text with its length and a digest: secrets, the values of Secrets; or none")
	set.StringVar(&s.color, "color", "auto", "colours: auto (on a terminal, unless NO_COLOR is set), always or never")
	if set.Lookup("namespace") == nil {
		s.gateway.AddNamespaceFlag(set)
	}
	s.gateway.AddFlags(set)
	completion.Gateway(cmd, &s.gateway)
	completion.Values(cmd, "color", "auto", "always", "never")
	completion.Values(cmd, "redact", redactSecrets, redactNone)
}

// check refuses values of flags that are wrong whatever the gateway has.
func (s *session) check(stdout io.Writer) (err error) {
	if s.redact != redactSecrets && s.redact != redactNone {
		return fmt.Errorf("--redact %q: want secrets or none", s.redact)
	}
	s.colors.Colored, err = command.UseColor(s.color, stdout)
	return err
}

// connect reads the resources of the gateway. The caller closes the client.
func (s *session) connect(cmd *cobra.Command) (err error) {
	if s.client, err = client.New(s.gateway); err != nil {
		return command.UsageError(err)
	}
	if s.resources, err = s.client.Resources(cmd.Context()); err != nil {
		s.client.Close()
		return fmt.Errorf("cannot read the resources of the gateway: %w", err)
	}
	return nil
}

// object connects, and finds the object that the arguments name. The caller closes the client.
func (s *session) object(cmd *cobra.Command, args []string) (q client.Query, err error) {
	if err = errors.Join(client.CheckObject(cmd.CommandPath(), args), s.check(cmd.OutOrStdout())); err != nil {
		return q, usageError(cmd, err)
	}
	if err = s.connect(cmd); err != nil {
		return q, err
	}
	targets, err := client.Targets(s.resources, args)
	if err != nil {
		s.client.Close()
		return q, usageError(cmd, err)
	}
	q = client.Query{Resource: targets[0].Resource, Name: targets[0].Names[0]}
	if q.Resource.Namespaced {
		q.Namespace = s.client.Namespace()
	}
	return q, nil
}

// hide returns an object without the values of a Secret, unless --redact is none.
func (s *session) hide(object []byte) []byte {
	if object == nil || s.redact == redactNone {
		return object
	}
	return s.key.Object(object)
}

// fullName is configmap/web -n shop.
func fullName(r client.Resource, namespace, name string) string {
	full := r.ObjectName(name)
	if namespace != "" {
		full += " -n " + namespace
	}
	return full
}

func usageError(cmd *cobra.Command, err error) error {
	return command.UsageError(fmt.Errorf("%w%s", err, command.HelpHint(cmd)))
}

// interval are the flags of the time that is read.
type interval struct{ since, until historyapi.Moment }

func (i *interval) addFlags(cmd *cobra.Command) {
	set := cmd.Flags()
	set.Var(&i.since, "since", "begin at a `moment`: "+historyapi.MomentUsage)
	set.Var(&i.until, "until", "end at a `moment`, as --since; none: now")
}

// output are the flags that say how changes are printed.
type output struct {
	format    string // table, wide or json
	patch     bool
	noHeaders bool
}

var formats = []string{"table", "wide", "json"}

func (o *output) addFlags(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVarP(&o.format, "output", "o", formats[0], "`format` of the output: table; wide, with all fields; or json, the lines of the API")
	set.BoolVarP(&o.patch, "patch", "p", false, "print the differences below each change")
	set.BoolVar(&o.noHeaders, "no-headers", false, "print no column headers")
	completion.Values(cmd, "output", formats...)
}

func (o *output) check() error {
	if !slices.Contains(formats, o.format) {
		return fmt.Errorf("--output %q: want %s", o.format, strings.Join(formats, ", "))
	}
	if o.patch && o.format == "json" {
		return errors.New("--patch has no effect with --output json: want --output table or wide")
	}
	return nil
}
