package serve

import (
	"context"

	"github.com/spf13/pflag"
)

// standIn has what revtail does in the place of a kube-apiserver of tests. These are no options, because a file or a variable of the
// environment that sets them by mistake would cost data.
type standIn struct {
	disposable bool // nobody needs the data of the embedded etcd after this process
	graceful   bool // Pods on a node stay until a kubelet, or the test, deletes them
	bootstrap  bool // create what a kube-apiserver creates in every cluster
}

// addFlags adds hidden flags.
func (s *standIn) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&s.disposable, "disposable-data", false, "nobody needs the data of the embedded etcd after this process: it does not wait for the disk")
	flags.BoolVar(&s.bootstrap, "bootstrap", false, "create the objects that a kube-apiserver creates in every cluster")
	flags.BoolVar(&s.graceful, "graceful-deletion", false, "Pods on a node stay, with a deletionTimestamp, until a kubelet deletes them")
	for _, name := range []string{"disposable-data", "bootstrap", "graceful-deletion"} {
		_ = flags.MarkHidden(name) // fails if there is no such flag
	}
}

// bootstrap creates the objects of every cluster. Without them most tests still pass, so an error is logged.
func (p *process) bootstrap(ctx context.Context) error {
	if err := p.gateway.Bootstrap(ctx); err != nil && ctx.Err() == nil {
		p.logger.Warn("objects that every cluster has are missing", "error", err)
	}
	return nil
}
