# make, or make help, lists the targets.

GO ?= go
GOLANGCI_LINT = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
BENCHSTAT = golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
FUZZTIME ?= 20s
SOAKTIME ?= 2m
SCALE ?= 1

# The packages that take longest begin first.
PROMISES = ./shared/internal/test
PACKAGES = $(PROMISES)/confinement $(PROMISES)/contract $(PROMISES)/faults ./host-example ./...

.DEFAULT_GOAL := help
.PHONY: help build demo test test-cgroup test-docker test-agents validate lint cross fuzz soak bench bench-growth bench-compare profile clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/bash-plugin and bin/host-example
	$(GO) build -trimpath -ldflags="-s -w" -o bin/bash-plugin ./plugin
	$(GO) build -trimpath -o bin/host-example ./host-example

demo: build ## the guided tour: real commands through the real plugin
	./bin/host-example demo

test: build ## every test
	$(GO) test -timeout 10m $(PACKAGES)

test-cgroup: build ## the tests of cgroups, in user-mode Linux (RUN=TestCgroupMemory for some of them)
	GO=$(GO) .ci/uml '$(RUN)'

test-docker: ## containers of plugin/deploy under a Docker Engine of their own
	GO=$(GO) .ci/docker

test-agents: build ## agents from npm with a scripted model (TABLE=host-example/CLIENTS.md writes its table)
	GO=$(GO) .ci/agents

validate: ## what CI runs: format, vet, tidy, lint, tests under the race detector, cross-compilation
	@test -z "$$(gofmt -l .)" || { echo 'not formatted:'; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) mod tidy -diff
	$(MAKE) lint cross build
	$(GO) test -race -timeout 20m $(PACKAGES)

lint: ## golangci-lint at a pinned version, fetched through Go modules; and no glued statements
	$(GO) run $(GOLANGCI_LINT) run
	$(GO) run ./plugin/internal/plain

cross: ## compile and vet for the other systems
	GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	GOOS=windows $(GO) vet ./shared/... ./host-example
	GOOS=linux GOARCH=arm64 $(GO) build ./...

fuzz: ## each fuzz target for FUZZTIME
	@grep -rEho '^func Fuzz[A-Za-z]+' --include='*_test.go' . | sed 's/^func //' | sort | while read -r name; do \
		dir=$$(grep -rEl "^func $$name\(" --include='*_test.go' . | xargs dirname); \
		echo "$$dir $$name"; $(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) "$$dir" || exit 1; \
	done

soak: ## random commands, crashes and restarts for SOAKTIME (SOAK_SEED=n repeats the dice), then heavy load
	SOAK=$(SOAKTIME) $(GO) test -count 1 -v -timeout 2h -run '^(TestSoak|TestFault.*)$$' $(PROMISES)/faults
	SOAK=$(SOAKTIME) $(GO) test -count 1 -v -timeout 10m -run '^TestAStopped' ./host-example
	$(GO) test -count 1 -timeout 2h -run '^TestSimulation$$' ./shared/internal/session -args -seeds 20000

bench: build ## the table of claims: target, measured, verdict (SCALE=0.1 for a quick look)
	$(GO) run ./plugin/internal/bench -scale $(SCALE)

bench-growth: build ## how cost grows with output and with jobs
	$(GO) run ./plugin/internal/bench -growth -scale $(SCALE)

bench-compare: ## compare the Go benchmarks of this tree with those of BASE=<rev>
	@test -n "$(BASE)" || { echo 'usage: make bench-compare BASE=<rev>'; exit 2; }
	@rm -rf bin/base && git worktree prune && git worktree add --force --detach bin/base $(BASE) >/dev/null
	cd bin/base && $(GO) test -run '^$$' -bench . -benchtime 0.3s -count 6 ./plugin/internal/... ./shared/tool > ../base.txt
	$(GO) test -run '^$$' -bench . -benchtime 0.3s -count 6 ./plugin/internal/... ./shared/tool > bin/head.txt
	git worktree remove --force bin/base
	$(GO) run $(BENCHSTAT) bin/base.txt bin/head.txt

profile: ## a CPU profile of the output pipeline in bin/cpu.prof
	@mkdir -p bin
	$(GO) test -run '^$$' -bench Stream -cpuprofile bin/cpu.prof -o bin/output.test ./plugin/internal/output
	$(GO) tool pprof -top -nodecount 25 bin/output.test bin/cpu.prof

clean: ## remove what was built
	rm -rf bin
