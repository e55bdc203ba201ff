package config

import (
	"errors"
	"fmt"
	"slices"

	"revtail/gateway/config/buildinfo"
)

// embeddedOptions and otlpOptions need parts of the program that a build can leave out.
var (
	embeddedOptions = []string{"data-dir", "embedded-client-url", "embedded-config"}
	otlpOptions     = []string{"otlp-endpoint", "otlp-protocol", "trace-sampling"}
)

const (
	withoutEmbedded = "this build of revtail has no embedded etcd (build tag noembedded)"
	withoutOTLP     = "this build of revtail sends no traces (build tag nootlp)"
	wantEndpoints   = "name an etcd, as --etcd-endpoints http://127.0.0.1:2379"
)

// leftOut says why an option does not work in this build; "": it works.
func leftOut(name string) string {
	switch {
	case !buildinfo.Embedded && slices.Contains(embeddedOptions, name):
		return withoutEmbedded
	case !buildinfo.OTLP && slices.Contains(otlpOptions, name):
		return withoutOTLP
	}
	return ""
}

// usageInBuild returns the usage of an option for --help.
func usageInBuild(o option) string {
	switch why := leftOut(o.name); {
	case why != "":
		return "refused, because " + why
	case o.name == "etcd-endpoints" && !buildinfo.Embedded:
		return "etcd: `URLs` or host:port, comma separated; required, because " + withoutEmbedded
	}
	return o.usage
}

// validateBuild refuses options that need what this build left out.
func (c Config) validateBuild() error {
	var errs []error
	for _, o := range c.options() {
		if why := leftOut(o.name); why != "" && c.set[o.name] {
			errs = append(errs, fmt.Errorf("--%s: %s: remove it", o.name, why))
		}
	}
	if !buildinfo.Embedded && !c.External() {
		errs = append(errs, errors.New("--etcd-endpoints: "+withoutEmbedded+": "+wantEndpoints))
	}
	return errors.Join(errs...)
}
