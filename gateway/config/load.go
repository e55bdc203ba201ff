package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"revtail/gateway/config/suggest"
)

const (
	envPrefix = "REVTAIL_"
	envFile   = envPrefix + "CONFIG" // --config in the environment
	fileFlag  = "config"

	// EnvServer has the URLs of gateways for subcommands.
	EnvServer = envPrefix + "SERVER"
)

// Flags are the options of a command line. The zero value is an empty command line.
type Flags struct {
	file  string
	given []assignment
}

// assignment is one option with a value from one source.
type assignment struct {
	name  string // of the option
	value string
	where string // the flag, variable or key, for messages
}

// AddFlags defines a flag for each option, and --config. After fs is parsed, call Load.
func AddFlags(fs *pflag.FlagSet) *Flags { return addFlags(fs, func(option) bool { return true }) }

// AddEtcdFlags defines only the flags of the connection to etcd, and --config. The file and the environment have all options.
func AddEtcdFlags(fs *pflag.FlagSet) *Flags {
	return addFlags(fs, func(o option) bool { return strings.HasPrefix(o.name, "etcd-") })
}

// AddDataFlags defines the flags of the connection to etcd, of a cluster's data there, of the kube-apiserver beside it, and --config.
func AddDataFlags(fs *pflag.FlagSet) *Flags {
	return addFlags(fs, func(o option) bool {
		return strings.HasPrefix(o.name, "etcd-") || o.name == "cluster" || o.name == "encryption-provider-config" || o.group == kubeAPIServer
	})
}

// AddMemberFlags defines the flags of the connection to etcd, --data-dir and --config.
func AddMemberFlags(fs *pflag.FlagSet) *Flags {
	return addFlags(fs, func(o option) bool { return o.group == etcd || o.name == "data-dir" })
}

func addFlags(fs *pflag.FlagSet, wanted func(option) bool) *Flags {
	f := &Flags{}
	shown := Default()
	for _, o := range shown.options() {
		if !wanted(o) {
			continue
		}
		flag := fs.VarPF(&flagValue{value: value{field: o.field}, name: o.name, flags: f}, o.name, "", usageInBuild(o))
		if flag.Value.Type() == "bool" {
			flag.NoOptDefVal = "true"
		}
		GroupFlags(fs, o.group, o.name)
	}
	fs.StringVar(&f.file, fileFlag, "", "YAML `file` with these options, named in camel case, apiVersion: "+apiVersion+", and mounts: prefixes of etcd that are shown as resources")
	GroupFlags(fs, ConfigurationGroup, fileFlag)
	return f
}

// flagValue is a flag. It checks the value with a temporary Config, and records it for Load.
type flagValue struct {
	value
	name  string
	flags *Flags
}

func (v *flagValue) Set(s string) error {
	v.flags.given = append(v.flags.given, assignment{v.name, s, "--" + v.name})
	return v.value.Set(s)
}

// Load merges the flags, an environment (os.Environ) and the file that one of these names. The error lists unknown names and values that
// cannot be parsed. Validate checks the result.
func (f *Flags) Load(environ []string) (Config, error) {
	variables := make(map[string]string)
	for _, variable := range environ {
		name, text, _ := strings.Cut(variable, "=")
		variables[name] = text
	}
	env, err := fromEnvironment(variables)
	if err != nil {
		return Config{}, err
	}
	c := Default()
	c.file, c.set = cmp.Or(f.file, variables[envFile]), make(map[string]bool)
	var inFile []assignment
	if c.file != "" {
		if inFile, c.Mounts, err = readFile(c.file); err != nil {
			return Config{}, err
		}
	}
	for _, source := range [][]assignment{inFile, env, f.given} {
		if err := c.apply(source); err != nil {
			return Config{}, err
		}
	}
	if !c.set["otlp-protocol"] {
		c.OTLPProtocol = cmp.Or(variables["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"], variables["OTEL_EXPORTER_OTLP_PROTOCOL"], c.OTLPProtocol)
	}
	if c.External() && !c.set["history"] {
		c.History = 0 // other users of an external etcd may need its history
	}
	if c.EmbeddedClientURL == "" || !c.set["embedded-client-url"] && (c.Authenticates() || c.PolicyFile != "") {
		c.EmbeddedClientURL = NoClientURL // who reaches etcd bypasses both
	}
	if !c.set["keys-writable"] && (c.set["keys"] || !c.Guarded()) {
		c.KeysWritable = nil // the default is for guarded gateways
	}
	for _, keys := range []*[]string{&c.Keys, &c.KeysWritable} {
		if slices.Equal(*keys, []string{""}) {
			*keys = nil
		}
	}
	return c, nil
}

// Guarded reports whether all clients are on this machine, or a policy restricts them.
func (c Config) Guarded() bool {
	return c.PolicyFile != "" || !slices.ContainsFunc(c.Listen, func(address string) bool { return !local(address) })
}

// apply sets the options of one source.
func (c *Config) apply(source []assignment) error {
	values := make(map[string]*value)
	for _, o := range c.options() {
		values[o.name] = &value{field: o.field}
	}
	for _, a := range source {
		if err := values[a.name].Set(a.value); err != nil {
			return fmt.Errorf("%s: %q: %w", a.where, a.value, err)
		}
		c.set[a.name] = true
	}
	return nil
}

// serviceLink matches the variables that Kubernetes sets in each container of a namespace with a Service named revtail or revtail-*. They
// are no options.
var serviceLink = regexp.MustCompile(`^REVTAIL_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// fromEnvironment returns the options of environment variables. It ignores empty variables.
func fromEnvironment(variables map[string]string) (given []assignment, err error) {
	var unknown []error
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		text := variables[name]
		o, known := findOption(option.env, name)
		switch {
		case !strings.HasPrefix(name, envPrefix) || text == "" || name == envFile || name == EnvServer || serviceLink.MatchString(name):
		case known:
			given = append(given, assignment{o.name, text, name})
		default:
			unknown = append(unknown, fmt.Errorf("environment variable %s is none of revtail's%s: correct or unset it",
				name, suggest.DidYouMean(name, names(option.env, envFile))))
		}
	}
	return given, errors.Join(unknown...)
}
