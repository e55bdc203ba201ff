package offline

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"revtail/cmd/revtail/completion"
	"revtail/etcdstore/journal"
	"revtail/etcdstore/redaction"
)

// Options say what is served, and how.
type Options struct {
	File                     string // a snapshot, the database of a member, the data directory of one, an export of a journal, or the directory of one
	Prefix                   string // of the resources; empty: /registry, or the only prefix that revtail has marked
	EncryptionProviderConfig string // file; empty: values are shown as they are stored
	Redact                   string // secrets or none
	Partial                  bool   // opens a damaged file up to the last revision that is complete
	SkipHashCheck            bool

	// Key is the key of the digests of redacted values. Files that are compared have the same.
	Key redaction.Key

	// Progress shows how far the import of an export is; nil: it is not shown.
	Progress journal.Progress
}

// The values of Redact.
const (
	redactSecrets = "secrets"
	redactNone    = "none"
)

// AddFlags defines a flag for each field except File.
func (o *Options) AddFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.AddReadFlags(flags)
	flags.BoolVar(&o.Partial, "partial", false, "open a damaged file up to the last revision that is complete")
	flags.BoolVar(&o.SkipHashCheck, "skip-hash-check", false, "do not read the whole file to check the checksum of a snapshot")
	completion.Values(cmd, "redact", redactSecrets, redactNone)
}

// AddReadFlags defines the flags that say how the data is read.
func (o *Options) AddReadFlags(flags *pflag.FlagSet) {
	o.Key = redaction.NewKey()
	flags.StringVar(&o.Prefix, "etcd-prefix", "", "`path` in etcd below which the objects are; none: /registry, or what revtail has marked if there is nothing")
	flags.StringVar(&o.EncryptionProviderConfig, "encryption-provider-config", "", "`file` with the providers that decrypt values, an EncryptionConfiguration of Kubernetes")
	flags.StringVar(&o.Redact, "redact", redactSecrets, "`what` is replaced by a text with its length and a digest: secrets, the values of Secrets; or none")
}

// Check returns an error that names a flag that is wrong.
func (o *Options) Check() error {
	if o.Redact != redactSecrets && o.Redact != redactNone {
		return fmt.Errorf("--redact %q: want secrets or none", o.Redact)
	}
	if o.Prefix != "" && (!strings.HasPrefix(o.Prefix, "/") || strings.HasSuffix(o.Prefix, "/")) {
		return fmt.Errorf("--etcd-prefix %q: want a path that begins with a slash and does not end in one, as /registry", o.Prefix)
	}
	return nil
}

// Redacts reports whether the values of Secrets are redacted.
func (o *Options) Redacts() bool { return o.Redact == redactSecrets }
