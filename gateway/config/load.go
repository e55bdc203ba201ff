package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"revtail/gateway/config/spelling"
)

const (
	envPrefix = "REVTAIL_"
	envFile   = envPrefix + "CONFIG" // what --config is in the environment

	// EnvServer names gateways, for subcommands that ask one.
	EnvServer = envPrefix + "SERVER"
)

// Flags are the options as somebody gave them on a command line. The zero value is an empty command line.
type Flags struct {
	file  string
	given []assignment
}

// assignment is one option with a value from one source.
type assignment struct {
	option option
	value  string
	where  string // names the place for who has to correct it
}

// AddFlags defines a flag for each option, and --config. Load says what they became after fs was parsed.
func AddFlags(fs *pflag.FlagSet) *Flags { return addFlags(fs, "") }

// AddEtcdFlags defines those alone by which etcd is found, and --config; the other options come from the file and the environment.
func AddEtcdFlags(fs *pflag.FlagSet) *Flags { return addFlags(fs, "etcd-") }

func addFlags(fs *pflag.FlagSet, prefix string) *Flags {
	f := &Flags{}
	shown := Default()
	for _, o := range options {
		if !strings.HasPrefix(o.name, prefix) {
			continue
		}
		flag := fs.VarPF(&flagValue{value: o.value(&shown), option: o, flags: f}, o.name, "", o.usage)
		if flag.Value.Type() == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
	fs.StringVar(&f.file, "config", "", "YAML `file` with these options, named in camel case, apiVersion: "+apiVersion+", and mounts: prefixes of etcd that are shown as resources")
	return f
}

// flagValue is a flag: it checks the value on a Config of no further use, and notes it for Load.
type flagValue struct {
	value
	option option
	flags  *Flags
}

func (v *flagValue) Set(s string) error {
	v.flags.given = append(v.flags.given, assignment{v.option, s, "--" + v.option.name})
	return v.value.Set(s)
}

// Load joins the flags with an environment (os.Environ) and the file that one of the two names. It refuses names that
// are none, and values that cannot be read; whether the whole makes sense, Validate says.
func (f *Flags) Load(environ []string) (Config, error) {
	env, file, err := fromEnvironment(environ)
	if err != nil {
		return Config{}, err
	}
	if f.file != "" {
		file = f.file
	}
	c := Default()
	c.file = file
	var inFile []assignment
	if file != "" {
		if inFile, c.Mounts, err = readFile(file); err != nil {
			return Config{}, err
		}
	}
	c.set = make(map[string]bool)
	for _, source := range [][]assignment{inFile, env, f.given} {
		if err := c.apply(source); err != nil {
			return Config{}, err
		}
	}
	if !c.set["otlp-protocol"] {
		c.OTLPProtocol = cmp.Or(variable(environ, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), variable(environ, "OTEL_EXPORTER_OTLP_PROTOCOL"), c.OTLPProtocol)
	}
	if c.External() && !c.set["history"] {
		c.History = 0 // the history of an etcd that others use too is theirs
	}
	if !c.set["keys-writable"] && (c.set["keys"] || !c.Guarded()) {
		c.KeysWritable = nil // what nobody named
	}
	for _, keys := range []*[]string{&c.Keys, &c.KeysWritable} {
		if slices.Equal(*keys, []string{""}) {
			*keys = nil
		}
	}
	return c, nil
}

// Guarded says that nobody comes but from this machine, or that a policy says what they may do.
func (c Config) Guarded() bool {
	return c.PolicyFile != "" || !slices.ContainsFunc(c.Listen, func(address string) bool {
		host, _, err := net.SplitHostPort(address)
		return err != nil || !Loopback(host)
	})
}

// apply sets what one source gives.
func (c *Config) apply(source []assignment) error {
	values := make(map[string]value)
	for _, a := range source {
		if values[a.option.name] == nil {
			values[a.option.name] = a.option.value(c)
		}
		if err := values[a.option.name].Set(a.value); err != nil {
			return fmt.Errorf("%s: %w", a.where, err)
		}
		c.set[a.option.name] = true
	}
	return nil
}

// serviceLink matches what Kubernetes puts into every container of a namespace that has a Service named revtail, or
// revtail-something: not meant for us, and not a mistake of anybody's.
var serviceLink = regexp.MustCompile(`^REVTAIL_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// variable is a variable of an environment, "" without it.
func variable(environ []string, name string) string {
	for _, v := range environ {
		if is, value, _ := strings.Cut(v, "="); is == name {
			return value
		}
	}
	return ""
}

// fromEnvironment finds the options and the file's name in an environment. An empty variable is as none.
func fromEnvironment(environ []string) (given []assignment, file string, err error) {
	var unknown []error
	for _, variable := range slices.Sorted(slices.Values(environ)) {
		name, v, _ := strings.Cut(variable, "=")
		o, known := findOption(option.env, name)
		switch {
		case !strings.HasPrefix(name, envPrefix) || v == "" || name == EnvServer || serviceLink.MatchString(name):
		case name == envFile:
			file = v
		case known:
			given = append(given, assignment{o, v, name})
		default:
			unknown = append(unknown, fmt.Errorf("environment variable %s is none of revtail's%s: correct or unset it",
				name, spelling.DidYouMean(name, names(option.env, envFile))))
		}
	}
	return given, file, errors.Join(unknown...)
}
