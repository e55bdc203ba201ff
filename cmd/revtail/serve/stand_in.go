package serve

import (
	"context"

	"github.com/spf13/pflag"
)

// standIn holds the hidden flags that the name kube-apiserver sets for tests. They are no options: a configuration file or an environment variable
// that sets --disposable-data by mistake would lose data.
type standIn struct {
	disposable bool // the data of the embedded etcd is temporary
	graceful   bool // Pods on a node stay until a kubelet, or the test, deletes them
	bootstrap  bool // create the objects that a kube-apiserver creates in every cluster
}

// addFlags adds hidden flags.
func (s *standIn) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&s.disposable, "disposable-data", false, "the data of the embedded etcd is temporary: etcd does not flush it to the disk")
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
