package client

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"revtail/gateway/config/suggest"
)

// addKubeconfig reads the context of a kubeconfig. A kubeconfig is read only because a flag says so: otherwise a command could reach
// a cluster that the user did not mean.
func (s *settings) addKubeconfig(c Config) error {
	files, content, err := c.readKubeconfig()
	if err != nil {
		return err
	}
	name := cmp.Or(c.Context, content.CurrentContext)
	if _, ok := content.Contexts[name]; !ok {
		return unknownContext(files, name, slices.Sorted(maps.Keys(content.Contexts)))
	}
	if cluster := content.Contexts[name].Cluster; content.Clusters[cluster] == nil && !c.serversGiven() {
		return fmt.Errorf("context %q of the kubeconfig %s: the file has no cluster %q: add it, or name the gateway with --server, as --server http://127.0.0.1:8080", name, files, cluster)
	}
	overrides := &clientcmd.ConfigOverrides{}
	if c.serversGiven() && len(c.Servers) > 0 {
		overrides.ClusterInfo.Server = c.Servers[0] // decides about credentials: none for http://
	}
	loaded := clientcmd.NewNonInteractiveClientConfig(*content, name, overrides, nil)
	rest, err := loaded.ClientConfig()
	if err != nil {
		return fmt.Errorf("context %q of the kubeconfig %s: %w", name, files, err)
	}
	s.rest, s.explicit = *rest, true
	if !c.serversGiven() {
		s.servers, s.flag = []string{rest.Host}, fmt.Sprintf("the server of context %q in the kubeconfig %s", name, files)
	}
	if s.namespace == "" {
		s.namespace = content.Contexts[name].Namespace
	}
	return nil
}

// readKubeconfig reads the file of --kubeconfig, else those of KUBECONFIG, else ~/.kube/config. files are their names, for errors.
func (c Config) readKubeconfig() (files string, content *api.Config, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, rules.MigrationRules, rules.WarnIfAllMissing = c.Kubeconfig, nil, false
	files, flag := cmp.Or(c.Kubeconfig, strings.Join(rules.Precedence, ", ")), "--kubeconfig"
	if c.Kubeconfig == "" {
		flag = "--context"
	}
	if content, err = rules.Load(); err == nil {
		return files, content, nil
	}
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		if cause.Op == "stat" {
			cause.Op = "open"
		}
		return files, nil, fmt.Errorf("%s: %w", flag, cause)
	}
	return files, nil, fmt.Errorf("%s %s: not a kubeconfig: want `apiVersion: v1`, `kind: Config`, and clusters, users and contexts", flag, files)
}

func unknownContext(files, name string, known []string) error {
	has := "the kubeconfig " + files + " has "
	if len(known) == 0 {
		has += "no contexts"
	} else {
		has += "the contexts " + strings.Join(known, ", ")
	}
	if name == "" {
		return fmt.Errorf("--context is not given, and there is no current-context: %s", has)
	}
	return fmt.Errorf("--context %q: %s%s", name, has, suggest.DidYouMean(name, known))
}

// Contexts returns the names of the contexts of the kubeconfig that --context would choose from.
func (c Config) Contexts() ([]string, error) {
	_, content, err := c.readKubeconfig()
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(content.Contexts)), nil
}
