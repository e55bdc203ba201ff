package serve

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// reloadable is a file that may change while the gateway runs.
type reloadable interface {
	prometheus.Collector
	Run(ctx context.Context) error
	Reload()
}

// reloadables are the configured reloadable files.
func (p *process) reloadables() []reloadable {
	var files []reloadable
	if p.certificates != nil {
		files = append(files, p.certificates)
	}
	if p.etcdTLS != nil {
		files = append(files, p.etcdTLS)
	}
	if p.etcdPassword != nil {
		files = append(files, p.etcdPassword)
	}
	if p.access.issuerTransport != nil {
		files = append(files, p.access.issuerTransport)
	}
	if p.access.tokens != nil {
		files = append(files, p.access.tokens)
	}
	if p.access.policy != nil {
		files = append(files, p.access.policy)
	}
	if p.audit != nil {
		files = append(files, p.audit)
	}
	if p.configFile != nil {
		files = append(files, p.configFile)
	}
	return files
}
