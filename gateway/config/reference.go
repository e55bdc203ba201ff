package config

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// reloads are the options of which something is taken while the gateway runs, and what.
var reloads = map[string]string{
	"tls-cert-file":        "its content",
	"tls-private-key-file": "its content",
	"client-ca-file":       "its content",
	"token-file":           "its content",
	"oidc-ca-file":         "its content",
	"policy-file":          "its content",
	"etcd-cacert":          "its content",
	"etcd-cert":            "its content",
	"etcd-key":             "its content",
	"etcd-password-file":   "its content",
	"audit-log-path":       "opened again, at SIGHUP",
}

// Reference is a page of Markdown about every option: its flag, environment variable, key in the file, default, meaning, and
// what a reload takes of it.
func Reference() []byte {
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	AddFlags(fs)
	out := bytes.NewBufferString(referenceHead)
	for _, o := range options {
		flag := fs.Lookup(o.name)
		argument, usage := pflag.UnquoteUsage(flag)
		if flag.Value.Type() == "bool" {
			argument = ""
		}
		meaning := sentence(usage)
		for _, e := range exclusions {
			if slices.Contains(e.others, o.name) {
				meaning += " Means nothing with " + e.by + "."
			}
		}
		fmt.Fprintf(out, "| `--%s`<br>`%s`<br>`%s` | %s | %s | %s |\n",
			strings.TrimSpace(o.name+" "+argument), o.env(), o.key(), shownDefault(flag), cmp.Or(reloads[o.name], "no"), meaning)
	}
	out.WriteString(referenceTail)
	return out.Bytes()
}

// sentence is a usage as a sentence of Markdown.
func sentence(usage string) string {
	return strings.ToUpper(usage[:1]) + strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`).Replace(usage[1:]) + "."
}

func shownDefault(flag *pflag.Flag) string {
	if flag.DefValue == "" {
		return "none"
	}
	return "`" + flag.DefValue + "`"
}

const referenceHead = `# Configuration of revtail serve

<!-- Written by: revtail serve --print-reference. A test compares this file with it. -->

Each option has a flag, an environment variable and a key in the file that ` + "`--config`" + ` names. A flag wins over the environment, the
environment over the file, the file over the default. The file is YAML and begins with ` + "`apiVersion: " + apiVersion + "`" + `; unknown and
repeated keys are refused, and so are unknown variables that begin with ` + "`REVTAIL_`" + `. A list is a list in the file, and is separated by
commas elsewhere; a duration is as ` + "`90s`, `15m` or `1h30m`" + `. ` + "`revtail serve --print-config`" + ` shows what all sources come to, as such a file.

A reload is a change of the file that an option names, which is seen within 3 s, or SIGHUP, at which all of them are read at once. What
cannot be used is reported in the log and by ` + "`revtail_file_last_reload_successful` (`revtail_tls_last_reload_successful`" + ` for the certificate of the listeners), and what was in use stays. Everything else needs a
restart, which costs no client a new list.

## Options

| flag, environment variable, key in the file | default | taken by a reload | meaning |
|---|---|---|---|
`

const referenceTail = `
## Other environment variables

| variable | meaning |
|---|---|
| ` + "`" + envFile + "`" + ` | the file of ` + "`--config`" + ` |
| ` + "`" + EnvServer + "`" + ` | URLs of gateways for ` + "`revtail get`, `watch` and `doctor`" + `, as ` + "`--server`" + ` |
| ` + "`GOMEMLIMIT`" + ` | a soft limit of memory, as 900MiB, for a container with a hard one somewhat above: garbage is collected earlier near it |
| ` + "`GOGC`" + ` | trades memory for processor time, as in every Go program; none: little garbage where the heap is large |
| ` + "`HTTPS_PROXY`, `NO_PROXY`" + ` | the way to an OpenID Connect issuer, and of ` + "`get`, `watch` and `doctor`" + ` to gateways |
| ` + "`NOTIFY_SOCKET`, `WATCHDOG_USEC`" + ` | set by systemd, which is told when the gateway is ready, stops, and lives |
`
