// Command kubernetes-controllers runs Kubernetes' own controllers of deployments and replica sets as kube-controller-manager
// runs them: behind a lease that one copy holds, with shared informers and protobuf. The whole program would build for minutes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/replicaset"
)

// What kube-controller-manager has without flags, but for the rate of requests: its 20 a second would make tests wait.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
	workers       = 5
	requestRate   = 1000
)

func main() {
	server := flag.String("server", "http://127.0.0.1:8080", "URL of the API server")
	identity := flag.String("identity", "controllers", "name of this copy among those that want to lead")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := lead(ctx, *server, *identity); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// lead runs the controllers from when this copy gets the lease until ctx ends or it is lost.
func lead(ctx context.Context, server, identity string) error {
	const protobuf = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server, QPS: requestRate, Burst: requestRate,
		ContentConfig: rest.ContentConfig{ContentType: protobuf, AcceptContentTypes: protobuf + ",application/json"}})
	if err != nil {
		return err
	}
	run, err := controllers(ctx, client)
	if err != nil {
		return err
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-controller-manager"}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: run, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return err
	}
	elector.Run(ctx)
	if ctx.Err() == nil {
		return fmt.Errorf("%s lost the lease", identity)
	}
	return nil
}

// controllers makes the controllers, and returns what runs them until its context ends.
func controllers(ctx context.Context, client kubernetes.Interface) (run func(context.Context), err error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	apps, pods := factory.Apps().V1(), factory.Core().V1().Pods()
	deployments, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), pods, client)
	if err != nil {
		return nil, err
	}
	replicaSets := replicaset.NewReplicaSetController(ctx, apps.ReplicaSets(), pods, client, replicaset.BurstReplicas)
	return func(ctx context.Context) {
		factory.Start(ctx.Done())
		go replicaSets.Run(ctx, workers)
		deployments.Run(ctx, workers)
	}, nil
}
