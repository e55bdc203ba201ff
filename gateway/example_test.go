package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"revtail/etcdstore"
	"revtail/etcdstore/embedded"
	"revtail/gateway"
)

// A program serves an etcd of its own over HTTP. With Endpoints of another etcd it needs no package embedded.
func Example() {
	dir, err := os.MkdirTemp("", "revtail")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, stop := context.WithCancel(context.Background())
	quiet := slog.New(slog.DiscardHandler)
	etcd, err := embedded.Start(ctx, embedded.Config{DataDir: dir, Logger: quiet})
	if err != nil {
		panic(err)
	}
	defer func() { _ = etcd.Close() }()
	store, err := etcdstore.Open(etcdstore.Config{Endpoints: etcd.Endpoints()})
	if err != nil {
		panic(err)
	}
	defer func() { _ = store.Close() }()

	server, err := gateway.New(gateway.Options{Store: store, Prefix: "/registry", Logger: quiet})
	if err != nil {
		panic(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Run(ctx)
	}()
	defer func() { stop(); <-ended }()
	if err := server.WaitReady(ctx); err != nil {
		panic(err)
	}
	front := httptest.NewServer(server) // or http.ListenAndServe("127.0.0.1:8080", server)
	defer front.Close()

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, front.URL+"/api/v1/namespaces/default/configmaps",
		strings.NewReader(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"motd"},"data":{"text":"hello"}}`))
	if err != nil {
		panic(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer func() { _ = response.Body.Close() }()
	fmt.Println(response.Status)
	// Output: 201 Created
}
