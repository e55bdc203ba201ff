package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"revtail/gateway/gatewaytest/program"
)

// cluster is an etcd with a kube-apiserver, and a revtail that is the replica of that.
type cluster struct {
	etcd    *etcd
	servers map[string]*product // by contender
}

// clusterServers are the contenders of a cluster, in order.
var clusterServers = []string{revtail, kubeAPIServer}

const (
	// clientToken is the token of all clients, unless each has one of its own, and replicaToken that of the replica.
	clientToken, replicaToken = "client-token", "replica-token"
)

// sameUser makes all clients one user, and ownUser gives each one a user of its own.
func sameUser(int) string { return clientToken }

func ownUser(i int) string { return fmt.Sprintf("%s-%d", clientToken, i) }

// openCluster starts an etcd with the first n of some objects, a kube-apiserver and its replica, for clients with tokens.
// The opening closes them.
func (s *stage) openCluster(ctx context.Context, o *opening, t transport, token func(int) string, n int, of func(i int) (string, []byte)) (*cluster, error) {
	e, err := s.startEtcd(ctx)
	if err != nil {
		return nil, err
	}
	o.own(e.close)
	key, value := everyoneIsAdmin()
	if _, err = e.put(ctx, key, value); err != nil {
		return nil, err
	}
	if _, err = e.load(ctx, n, of); err != nil {
		return nil, err
	}
	tokens, err := s.writeTokens()
	if err != nil {
		return nil, err
	}
	k, err := s.startKubeAPIServer(ctx, e, t, "--token-auth-file", tokens)
	if err != nil {
		return nil, err
	}
	o.own(k.Stop)
	r, err := s.openReplica(ctx, o, e, k)
	if err != nil {
		return nil, err
	}
	c := &cluster{etcd: e, servers: map[string]*product{revtail: r, kubeAPIServer: k}}
	for _, p := range c.servers {
		p.endpoint.token = token
	}
	return c, nil
}

// writeTokens writes the file of the tokens of a kube-apiserver. All users may do everything.
func (s *stage) writeTokens() (path string, err error) {
	var b strings.Builder
	add := func(token string) { fmt.Fprintf(&b, "%s,user:%s,%s,system:masters\n", token, token, token) }
	add(clientToken)
	add(replicaToken)
	for i := range s.size.watchers {
		add(ownUser(i))
	}
	path = filepath.Join(s.dir, "tokens.csv")
	return path, os.WriteFile(path, []byte(b.String()), 0o600)
}

// openReplica starts a revtail that is the replica of a kube-apiserver. The opening closes it.
func (s *stage) openReplica(ctx context.Context, o *opening, e *etcd, k *product) (*product, error) {
	url, kubeconfig := "https://"+k.endpoint.address, filepath.Join(s.dir, "replica.conf")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"+
		"clusters: [{name: a, cluster: {server: %s}}]\nusers: [{name: a, user: {token: %s}}]\n", url, replicaToken)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return s.openProduct(ctx, o, s.products[0].binary, e, k.endpoint.transport, "--cluster", "--kube-apiserver", url,
		"--kube-apiserver-ca-file", s.certificate.CertFile, "--authentication-kubeconfig", kubeconfig, "--max-watches-per-user", "0")
}

// publishedMessage is published in protobuf.
func publishedMessage(i int) (string, []byte) {
	key, object := published(i)
	return key, messageConfigMap(object)
}

// fanOut returns the fan-out of one of the servers, without watchers.
func (c *cluster) fanOut(server string) *fanOut {
	return &fanOut{server: c.servers[server].Process, publisher: etcdPublisher{c.etcd, publishedMessage}}
}

// openFleet opens watches at one of the servers.
func (c *cluster) openFleet(ctx context.Context, server string, watchers int) (*fleet, error) {
	return openProductFleet(ctx, c.etcd, c.servers[server], jsonLines, watchers)
}

// processes are those of the servers.
func (c *cluster) processes() []*program.Process {
	var all []*program.Process
	for _, name := range clusterServers {
		all = append(all, c.servers[name].Process)
	}
	return all
}
