package config

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// reloads are the options that the gateway reloads while it runs, with the reloaded part.
var reloads = map[string]string{
	"tls-cert-file":                    "its content",
	"tls-private-key-file":             "its content",
	"client-ca-file":                   "its content",
	"token-file":                       "its content",
	"oidc-ca-file":                     "its content",
	"service-account-signing-key-file": "its content",
	"service-account-key-file":         "their content",
	"policy-file":                      "its content",
	"kube-apiserver-ca-file":           "its content",
	"authentication-kubeconfig":        "its content",
	"proxy-client-cert-file":           "its content",
	"proxy-client-key-file":            "its content",
	"etcd-cacert":                      "its content",
	"etcd-cert":                        "its content",
	"etcd-key":                         "its content",
	"etcd-password-file":               "its content",
	"encryption-provider-config":       "its content",
	"audit-log-path":                   "opened again, at SIGHUP",
}

// Reference returns a page of Markdown about all options: flag, environment variable, key in the file, default, reload and meaning.
func Reference() []byte {
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	AddFlags(fs)
	out := bytes.NewBufferString(referenceHead)
	for _, group := range groups {
		fmt.Fprintf(out, referenceGroup, group)
		for _, o := range optionsOf(group) {
			o.writeReference(out, fs.Lookup(o.name))
		}
	}
	out.WriteString(referenceTail)
	return out.Bytes()
}

// writeReference writes the row of an option, which has this flag.
func (o option) writeReference(out *bytes.Buffer, flag *pflag.Flag) {
	argument, usage := pflag.UnquoteUsage(flag)
	if flag.Value.Type() == "bool" {
		argument = ""
	}
	meaning := sentence(usage)
	for _, e := range exclusions {
		if slices.Contains(e.others, o.name) {
			meaning += " Has no effect with " + e.by + "."
		}
	}
	shown := "none"
	if flag.DefValue != "" {
		shown = "`" + flag.DefValue + "`"
	}
	fmt.Fprintf(out, "| `--%s`<br>`%s`<br>`%s` | %s | %s | %s |\n",
		strings.TrimSpace(o.name+" "+argument), o.env(), o.key(), shown, cmp.Or(reloads[o.name], "no"), meaning)
}

// sentence returns a usage as a sentence of Markdown.
func sentence(usage string) string {
	return strings.ToUpper(usage[:1]) + strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`).Replace(usage[1:]) + "."
}

const referenceHead = `# Configuration of revtail serve

<!-- Written by: revtail serve --print-reference. A test compares this file with it. -->

Each option has a flag, an environment variable and a key in the file that ` + "`--config`" + ` names. A flag overrides the environment, the
environment the file, the file the default. The file is YAML and begins with ` + "`apiVersion: " + apiVersion + "`" + `; unknown and
repeated keys are refused, and so are unknown variables that begin with ` + "`REVTAIL_`" + `. A list is a list in the file, and is separated by
commas elsewhere; a duration is as ` + "`90s`, `15m` or `1h30m`" + `. ` + "`revtail serve --print-config`" + ` prints the effective configuration as such a file.

A reload is a change of the file that an option names, which the gateway notices within 3 s, or SIGHUP, at which it reads all of them. It
reports invalid content in the log and by ` + "`revtail_file_last_reload_successful` (`revtail_tls_last_reload_successful`" + ` for the certificate of the listeners), and keeps the previous content. Everything else needs a
restart, after which clients resume without a new list.
`

const referenceGroup = `
## %s

| flag, environment variable, key in the file | default | reload | meaning |
|---|---|---|---|
`

const referenceTail = `
## Other environment variables

| variable | meaning |
|---|---|
| ` + "`" + envFile + "`" + ` | the file of ` + "`--config`" + ` |
| ` + "`" + EnvServer + "`" + ` | URLs of gateways for the commands that ask a gateway, as ` + "`--server`" + ` |
| ` + "`GOMEMLIMIT`" + ` | a soft limit of memory, as 900MiB: near it, garbage is collected earlier. Default: nine tenths of the smallest limit of the cgroups of the process; off: none |
| ` + "`GOGC`" + ` | trades memory for processor time, as in every Go program; none: little garbage where the heap is large |
| ` + "`HTTPS_PROXY`, `NO_PROXY`" + ` | the proxy for an OpenID Connect issuer and for a kube-apiserver, and of ` + "`get`, `watch` and `doctor`" + ` to gateways |
| ` + "`NOTIFY_SOCKET`, `WATCHDOG_USEC`" + ` | set by systemd: the gateway reports that it is ready, alive or stopping |
`
