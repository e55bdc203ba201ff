# Everything a developer does, by name. `make` alone lists it.
# ARGS go to `revtail serve`, to the benchmark, or as flags to `go test` of the scenarios; PKG narrows test, race, microbench and cover; FUZZTIME is the time of each fuzz target; EVENTS are those of bench-history;
# VULNDB is the database that vuln asks, where vuln.go.dev is out of reach: file:///DIR, laid out as https://go.dev/doc/security/vuln/database tells.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c

PKG      ?= ./...
FUZZTIME ?= 10s
EVENTS   ?= 10000000
FUZZ     ?= cmd encoding etcdstore gateway
VULNDB   ?= https://vuln.go.dev
GOARCH   ?= $(shell go env GOARCH)
# Version, commit and date are those that the go command records from Git. Sources without Git get them so: make build VERSION=v0.1.0
# COMMIT=c894459 DATE=2026-11-21T03:46:00Z. The program ignores these where the go command has recorded a version. TAGS=noembedded,nootlp
# leaves out the embedded etcd and traces.
VERSION  :=
COMMIT   :=
DATE     :=
INFO     := $(shell go list -m)/gateway/config/buildinfo
TAGS     :=
BUILD    := build -buildvcs=auto $(if $(TAGS),-tags $(TAGS)) -ldflags '-s -w $(if $(VERSION),-X $(INFO).version=$(VERSION) -X $(INFO).commit=$(COMMIT) -X $(INFO).date=$(DATE))'
TOOLS    := $(CURDIR)/bin/tools
CLIENTS  := gateway/gatewaytest/clients
BENCH    := gateway/gatewaytest/bench
WATCHERS := gateway/gatewaytest/watchers
ROBUST   := gateway/gatewaytest/robustness
SOAK     := gateway/gatewaytest/soak
IMAGE    ?= revtail

# A kubectl that does not know its version cannot tell whether the server's is too far away.
KUBERNETES_VERSION := go list -m -f '-X k8s.io/component-base/version.gitVersion={{.Version}}' k8s.io/kubernetes
REF      ?= HEAD

# The tests find there what they start, where `make tools` has built it.
export PATH := $(TOOLS):$(PATH)

# Programs, tests and tools are built with the same settings, so that each of the 2,000 packages behind them is compiled once. `make lint` vets
# every package, so that `go test` does not.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(shell go env GOFLAGS) -trimpath -vet=off)

# The packages that `make race-quick` runs: all below these folders, and those that start goroutines, themselves or in their tests. The packages
# of gatewaytest, and the scripts of cmd/revtail, start whole gateways, and belong to `make race`.
CONCURRENT := cmd/revtail/client cmd/revtail/serve etcdstore gateway/access gateway/keys gateway/metrics gateway/middleware gateway/netio gateway/watch gateway/watchcache
GOROUTINES  = $$(grep -rlE --include='*.go' --exclude-dir=gatewaytest 'go func|\.Go\(' cmd encoding etcdstore gateway | xargs -n 1 dirname | grep -vx cmd/revtail | sort -u)

.PHONY: help build run test race race-quick e2e cluster foreign conformance conformance-kubernetes conformance-kubernetes-quick envtest robustness robustness-long soak abuse console fuzz bench bench-quick bench-diff bench-growth bench-watchers bench-kubernetes bench-history bench-databases microbench typecheck lint vuln fix cover manifests image release release-test compose-test control-plane-test systemd-test ci clean tools

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "%-30s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build the program: bin/revtail
	go $(BUILD) -o bin/revtail ./cmd/revtail

run: build ## Start the gateway with an etcd of its own on loopback
	bin/revtail serve $(ARGS)

test: ## Run every test that needs nothing but Go
	go test -parallel 4 $(PKG)

# Without inlining the compiler takes a fifth less time, which is most of what the tests with the race detector take where nothing is cached.
race race-quick: export CGO_ENABLED := 1
race race-quick: export GOFLAGS := $(GOFLAGS) -gcflags=all=-l
race: ## Run them again under the race detector (needs a C compiler)
	go test -race -short -parallel 4 -timeout 20m $(PKG)

race-quick: ## The same for the packages that have goroutines of their own, without those that start whole gateways
	go test -race -short -parallel 4 -timeout 20m $(CONCURRENT:%=./%/...) $$(printf './%s ' $(GOROUTINES))

e2e: $(TOOLS)/etcd $(TOOLS)/kube-apiserver $(TOOLS)/kubectl-debian $(TOOLS)/helm $(TOOLS)/definitions ## Run unmodified clients against the gateway: informers, etcdctl, kubectl, Kubernetes' controllers, helm
	cd $(CLIENTS) && REVTAIL_TOOLS=$(TOOLS) go test -count=1 -parallel 4 ./...

cluster: $(TOOLS)/etcd $(TOOLS)/kube-apiserver $(TOOLS)/definitions ## Compare gateways on the etcd of a kube-apiserver, and before it, with that: objects of every kind, watches, users, encryption
	cd gateway/gatewaytest && REVTAIL_TOOLS=$(TOOLS) go test -count=1 -parallel 4 -timeout 20m -run 'TestCluster|TestBehind' $(ARGS) . -args -cluster

foreign: $(TOOLS)/etcd $(TOOLS)/kube-apiserver ## Leave gateways for minutes, not seconds as e2e, beside data of a kube-apiserver and of others: nothing of it may change
	cd $(CLIENTS) && REVTAIL_TOOLS=$(TOOLS) go test -count=1 -timeout 30m -run TestForeign $(ARGS) . -stay 2m

conformance: ## Try every statement of the protocol on the server at BASE, and the etcd at ETCD behind it; none: on revtail
	cd gateway/gatewaytest/conformance && go test -count=1 -args -base=$(BASE) -etcd=$(ETCD)

conformance-kubernetes: $(TOOLS)/e2e.test $(TOOLS)/kube-apiserver $(TOOLS)/kube-scheduler $(TOOLS)/kwok ## Run Kubernetes' own conformance tests, and rewrite gateway/gatewaytest/kubernetes/CONFORMANCE.md
	mkdir -p bin/conformance && cd gateway/gatewaytest/kubernetes && REVTAIL_TOOLS=$(TOOLS) go test -count=1 -timeout 50m -v \
		-run TestConformance $(ARGS) . -artifacts -outputdir $(CURDIR)/bin/conformance -args -suite

conformance-kubernetes-quick: $(TOOLS)/e2e.test $(TOOLS)/kube-apiserver ## Run those of them that need no controller and do not wait
	mkdir -p bin/conformance && cd gateway/gatewaytest/kubernetes && REVTAIL_TOOLS=$(TOOLS) go test -count=1 -timeout 20m -short \
		-run TestConformance $(ARGS) . -artifacts -outputdir $(CURDIR)/bin/conformance -args -suite

envtest: $(TOOLS)/etcd $(TOOLS)/kube-apiserver ## Run the suites of other projects that use envtest on kube-apiserver and on revtail, and rewrite gateway/gatewaytest/envtest/ENVTEST.md; ANEW='gatekeeper on revtail' for some
	mkdir -p bin/envtest && cd gateway/gatewaytest/envtest && REVTAIL_TOOLS=$(TOOLS) go test -count=1 -timeout 120m -v \
		-run TestSuites $(ARGS) . -args -suites $(CURDIR)/bin/envtest $(if $(ANEW),-anew '$(ANEW)')

robustness: $(TOOLS)/etcd ## Break etcd, gateways and the network between under load, and compare what clients saw with etcd's history
	$(call play,quick,15m)

robustness-long: $(TOOLS)/etcd ## The same with every fault, and for longer
	$(call play,long,90m)

# play SET TIMEOUT: the histories of what failed are left in bin/robustness.
play = mkdir -p bin/robustness && cd $(ROBUST) && REVTAIL_TOOLS=$(TOOLS) go test -count=1 -timeout $(2) -run TestScenarios \
	-artifacts -outputdir $(CURDIR)/bin/robustness $(ARGS) -args -set=$(1)

soak: $(TOOLS)/etcd ## Run two gateways on three etcds under load for an hour, and judge whether memory or times grow; ARGS="-for 24h" for another time
	mkdir -p bin/soak && cd $(SOAK) && REVTAIL_TOOLS=$(TOOLS) go test -count=1 -timeout 0 -run TestSoak \
		-artifacts -outputdir $(CURDIR)/bin/soak -args -out $(CURDIR)/bin/soak -for 1h $(ARGS)

abuse: $(TOOLS)/etcd ## Attack the program as a user who means harm, and print what each attack costs the attacker and the others
	cd gateway/gatewaytest/abuse && go test -count=1 -timeout 10m -run TestAttacks $(ARGS) -args -attack
	cd gateway/gatewaytest && go test -count=1 -timeout 10m -v -run 'TestStrangersFillNoMemory|TestKeyUpdatesOfStrangers' -args -attack | grep -v '^=== '

console: ## Drive the page at /ui/, and pages that use revtail.js, in a browser (needs Chromium), and keep the pictures in bin/console
	mkdir -p bin/console && go test -count=1 -v -parallel 4 -run 'TestConsole|TestModule|TestEventSource' ./gateway/gatewaytest -artifacts -outputdir $(CURDIR)/bin/console -args -browser

fuzz: ## Run each fuzz target for FUZZTIME; FUZZ="encoding gateway/netio" for those in some folders
	@grep -rHoE --include='*_test.go' '^func Fuzz\w+' $(FUZZ) | while IFS=: read -r file func; do \
		echo "$$file: $${func#func }"; \
		run() { go test -run '^$$' -fuzz "^$${func#func }\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x ./$${file%/*} </dev/null; }; \
		run || { echo "once more: what was found is tried first, and a deadline of the fuzzer itself is no finding"; run; } || exit 1; done

bench: $(TOOLS)/etcd ## Measure the program against its goals and peers: a table, and bin/bench.json; ARGS="-row fanout" for some rows
	go run ./$(BENCH) $(ARGS)

bench-quick: $(TOOLS)/etcd ## The same, smaller and once: finds what is broken
	go run ./$(BENCH) -quick $(ARGS)

bench-diff: $(TOOLS)/etcd ## Measure the working tree and the commit REF in turns
	go run ./$(BENCH) -diff $(REF) $(ARGS)

bench-growth: $(TOOLS)/etcd ## Measure how cost grows: tables, and the plot bin/bench-growth.svg
	go run ./$(BENCH) -growth $(ARGS)

bench-watchers: build $(TOOLS)/etcd ## Measure one gateway with many watchers over HTTP/2: memory, opens, one event to all, churn; ARGS="-watchers 100000", or -model for the costs as functions
	go run ./$(WATCHERS) $(ARGS)

bench-kubernetes: $(TOOLS)/etcd $(TOOLS)/kube-apiserver ## Measure the program beside a kube-apiserver on the same work, and rewrite gateway/gatewaytest/bench/KUBERNETES.md; ARGS=-quick finds what is broken
	go run ./$(BENCH) -kubernetes -json bin/bench-kubernetes.json $(ARGS)

bench-history: ## Measure the journal with EVENTS events of 50,000 objects: time to open, lists, events of one object, bytes an event
	go test ./etcdstore/journal -run '^$$' -bench BenchmarkHistory -benchtime 1x -timeout 2h -events $(EVENTS)

bench-databases: ## Compare pebble, which the journal uses, with other embedded databases at the work of a journal: a table
	cd .ci/tools/databases && go run .

microbench: $(TOOLS)/etcd ## Run the benchmarks of functions six times each and summarise them
	go test -run '^$$' -bench . -benchmem -count 6 $(PKG) | tee bin/bench.txt
	$(TOOLS)/benchstat bin/bench.txt

typecheck: $(TOOLS)/golangci-lint ## Check that the packages are correct on the platforms that are least like this one
	for platform in windows/amd64 darwin/arm64; do GOOS=$${platform%/*} GOARCH=$${platform#*/} $(TOOLS)/typecheck ./...; done

lint: $(TOOLS)/golangci-lint ## Check style, imports, formatting and go.mod
	go build ./... && go vet ./... && $(TOOLS)/golangci-lint run
	cd $(CLIENTS) && go vet ./... && $(TOOLS)/golangci-lint run
	cd .ci/tools/release && go vet ./...
	for module in . $(CLIENTS); do (cd $$module && go mod tidy -diff); done
	go mod verify

vuln: $(TOOLS)/etcd ## Look for known vulnerabilities in what the program and its tests use (asks vuln.go.dev, or VULNDB=file:///DIR)
	for module in . $(CLIENTS); do (cd $$module && $(TOOLS)/govulncheck -db $(VULNDB) -test ./...); done

fix: $(TOOLS)/golangci-lint ## Mend what lint can mend
	for module in . $(CLIENTS); do (cd $$module && $(TOOLS)/golangci-lint fmt && go mod tidy); done
	$(TOOLS)/golangci-lint run --fix

cover: ## Measure what the tests cover: bin/cover.out and a summary
	@mkdir -p bin
	go test -coverpkg=./... -coverprofile=bin/cover.out $(PKG)
	go tool cover -func=bin/cover.out | tail -1

manifests: $(TOOLS)/helm ## Give the chart deploy/helm/revtail its alerts, and render deploy/kubernetes from it
	cp deploy/prometheus/alerts.yaml deploy/helm/revtail/alerts.yaml
	.ci/manifests deploy/kubernetes

image: ## Build the container image: revtail
	mkdir -p bin/image/data
	GOOS=linux GOARCH=$(GOARCH) go $(BUILD) -o bin/image/revtail ./cmd/revtail
	.ci/labels bin/image/revtail | sed 's/^/--label=/' | xargs -d '\n' docker build --platform linux/$(GOARCH) --tag $(IMAGE) --file deploy/Dockerfile .

release: $(TOOLS)/nfpm ## Build the archives, packages, image, chart, SBOM and checksums of the commit HEAD: bin/release
	VERSION=$(VERSION) COMMIT=$(COMMIT) DATE=$(DATE) .ci/release

release-test: $(TOOLS)/nfpm ## Try the artefacts of a release as a user does (packages: needs Docker, the first time root and debootstrap)
	.ci/release-test

compose-test: image $(TOOLS)/etcd ## Start deploy/compose.yaml for real and drive it with curl
	.ci/compose-test

control-plane-test: image $(TOOLS)/etcd $(TOOLS)/kube-apiserver $(TOOLS)/kube-scheduler $(TOOLS)/kwok ## Start deploy/control-plane.yaml for real, drive it with kubectl, and kill every component
	.ci/control-plane-test

systemd-test: build ## Run deploy/systemd/revtail.service under a real systemd, in a container (needs Docker, the first time root and debootstrap)
	.ci/systemd-test

ci: ## Run exactly what CI runs
	.ci/run

clean: ## Remove what was built
	rm -rf bin

tools: $(TOOLS)/golangci-lint $(TOOLS)/nfpm $(TOOLS)/etcd $(TOOLS)/kube-apiserver $(TOOLS)/kubectl-debian $(TOOLS)/definitions $(TOOLS)/helm ## Build etcd, kube-apiserver, kubectl, the linter and the rest into bin/tools

$(TOOLS)/golangci-lint: $(wildcard .ci/tools/lint/go.* .ci/tools/lint/*/*.go)
	cd .ci/tools/lint && go build -o $(TOOLS)/ tool && touch $@

# etcd stands for all of them; it is static, as the others, since the etcd image of .ci/etcd-image holds nothing else.
$(TOOLS)/etcd: $(wildcard .ci/tools/go.*)
	cd .ci/tools && go build -o $(TOOLS)/ tool
	mv $(TOOLS)/server $@

# nfpm stands for the tools of a release: it makes packages; the others the SBOM, archives and images.
$(TOOLS)/nfpm: $(wildcard .ci/tools/release/go.* .ci/tools/release/*/*.go)
	cd .ci/tools/release && go build -o $(TOOLS)/ tool && touch $@

# kube-apiserver stands for all that is made of Kubernetes: it, kubectl and some controllers.
$(TOOLS)/kube-apiserver: $(wildcard .ci/tools/kubernetes/go.* .ci/tools/kubernetes/*/*)
	cd .ci/tools/kubernetes && go build -ldflags "-s -w $$($(KUBERNETES_VERSION))" -o $(TOOLS)/ tool && touch $@

# kube-scheduler stands for both programs.
$(TOOLS)/kube-scheduler: $(wildcard .ci/tools/control-plane/go.*)
	cd .ci/tools/control-plane && go build -ldflags "-s -w $$($(KUBERNETES_VERSION))" -o $(TOOLS)/ tool && touch $@

$(TOOLS)/kwok: $(wildcard .ci/tools/kwok/go.*)
	cd .ci/tools/kwok && go build -ldflags '-s -w' -o $(TOOLS)/ tool && touch $@

$(TOOLS)/e2e.test: $(wildcard .ci/tools/conformance/*)
	cd .ci/tools/conformance && go test -c -ldflags "-s -w $$($(KUBERNETES_VERSION))" -o $@ . && touch $@

$(TOOLS)/helm: $(wildcard .ci/tools/helm/go.*)
	cd .ci/tools/helm && go build -ldflags '-s -w' -o $(TOOLS)/ tool && touch $@

# Definitions of other projects come from their Go modules.
$(TOOLS)/definitions: .ci/definitions
	.ci/definitions $@ || echo "no definitions of other projects: the tests that read them will be skipped"

# Debian's kubectl is an old one. Where it cannot be had, the test that uses it is skipped, and says so.
$(TOOLS)/kubectl-debian:
	.ci/kubectl-debian $@ || echo "no kubectl of Debian: the test that uses it will be skipped"
