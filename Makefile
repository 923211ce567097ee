# make        lists what it can do
# make build  makes ./gobench

GO ?= go
BIN := $(CURDIR)/.bin
FUZZTIME ?= 30s
BENCHFLAGS ?= -write
SOAK ?= 200
SEED ?= 0
FROM ?= 0

# Tools, each a version that never moves by itself.
STATICCHECK := $(BIN)/staticcheck-v0.8.2
GOVULNCHECK := $(BIN)/govulncheck-v1.8.0
PROTOC_GEN_GO := $(BIN)/protoc-gen-go-v1.36.12
PROTOC_GEN_GO_GRPC := $(BIN)/protoc-gen-go-grpc-v1.6.2

# Debian keeps servers where a user's PATH does not look.
export PATH := $(PATH):/usr/sbin:/sbin

.DEFAULT_GOAL := help
.PHONY: help build test test-long test-binary soak demo bench lint docs fuzz vuln proto bundle ui clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build ./gobench
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o gobench .

# Packages whose goroutines share memory: they are tested under the race detector. The
# others are pure functions, or test processes that are built without it; the tests of
# internal/master/store would take two minutes of CPU more.
RACED := ./clients/... ./dis ./executor ./executor/data ./executor/executortest ./internal/agent ./internal/agent/blobs ./internal/agent/hoststat \
	./internal/agent/sandbox ./internal/agent/spool ./internal/api ./internal/api/client ./internal/build ./internal/cli ./internal/load/conn \
	./internal/load/runner ./internal/local ./internal/local/history ./internal/master ./internal/master/bus ./internal/measure/... \
	./internal/process ./internal/server ./internal/show/live ./internal/show/lines
# Packages that take longest: they begin first.
FIRST := ./internal/testing/cluster ./internal/testing/scripts ./internal/master/... ./clients/http
SUITE := GOBENCH_TEST_BINARY=$(BIN)/test/gobench $(GO) run ./internal/testing/suite -race '$(RACED)' -first '$(FIRST)'

test: test-binary ## install what the tests need (Debian packages), then run them: minutes
	$(SUITE) ./...

test-long: test-binary ## as test, at full size, with what measures or takes long by nature: up to 40 minutes
	scripts/platforms.sh build
	$(SUITE) -tags long -timeout 40m -p 1 $$($(GO) list ./... | grep -v -e /internal/testing/truth -e /internal/master/store)
	$(SUITE) -tags long -timeout 40m -p 1 ./internal/master/store ./internal/testing/truth # one at a time: they measure

# What all tests share: the servers they start, and one build of gobench.
test-binary:
	scripts/test-setup.sh
	scripts/ui.sh deps
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o $(BIN)/test/gobench .
	$(GO) run ./internal/testing/fill $(BIN)/test/gobench

soak: test-binary ## kill masters and agents SOAK times (200) at random moments, by SEED, from run FROM, and check after each run; then 1,000 random runs whose counts must add up, and SOAK disturbed runs whose bounds must hold: hours; figures in soak.jsonl
	$(GO) test -timeout 4h -v ./internal/testing/cluster -run 'TestSoak|TestMasterBegunAgain' -soak $(SOAK) -soak-seed $(SEED) -soak-from $(FROM) -soak-out $(CURDIR)/soak.jsonl
	GOBENCH_TEST_BINARY=$(BIN)/test/gobench $(GO) test -timeout 4h ./internal/testing/scripts ./internal/testing/cluster -run TestEquations -equations 1000
	GOBENCH_TEST_BINARY=$(BIN)/test/gobench $(GO) test -tags long -timeout 4h -v ./internal/testing/truth -run 'TestBounds$$' -bounds-runs $(SOAK) -bounds-seed $(SEED)

demo: build ## run examples/http against gobench's own target server
	scripts/demo.sh

bench: ## measure gobench beside its peers; writes docs/benchmarks.md
	$(GO) run ./bench $(BENCHFLAGS)

lint: $(STATICCHECK) ## gofmt, go vet, staticcheck, and that what is committed and built is current
	scripts/gofmt.sh
	$(GO) run ./internal/testing/words
	scripts/debian.sh node:nodejs npm:npm
	scripts/ui.sh check
	$(GO) vet -tags long ./...
	scripts/platforms.sh vet
	$(STATICCHECK) -tags long ./...
	@if [ -d internal/build/bundle ]; then set -x; $(GO) run ./internal/build/bundle -check; fi

docs: ## write what is generated in docs: commands, manual page, OpenAPI, tables of metrics
	$(GO) test ./internal/cli -run TestReference -update
	$(GO) test ./internal/api -run TestDocumentIsCommitted -update
	$(GO) test ./internal/testing/scripts -run TestScripts/metrics -update

fuzz: ## run every fuzz target for FUZZTIME (30s)
	FUZZTIME=$(FUZZTIME) scripts/fuzz.sh

vuln: $(GOVULNCHECK) ## look for known vulnerabilities (needs the public network)
	$(GOVULNCHECK) ./...

proto: $(PROTOC_GEN_GO) $(PROTOC_GEN_GO_GRPC) ## regenerate Go code from the .proto files (needs protoc)
	scripts/proto.sh $(PROTOC_GEN_GO) $(PROTOC_GEN_GO_GRPC)

bundle: ## rebuild the archive of sources that scenarios are compiled against
	$(GO) run ./internal/build/bundle

ui: ## build the pages in ui/dist from ui/src (needs Node.js)
	scripts/ui.sh

clean: ## remove what make built
	rm -rf gobench $(BIN) ui/node_modules

# Each tool lands under its version's name, so it is installed once, and again
# when the version changes.
define tool
	@mkdir -p $(BIN)
	GOBIN=$@.new $(GO) install $(1)@$(lastword $(subst -, ,$(notdir $@)))
	@mv $@.new/* $@ && rmdir $@.new
endef

$(STATICCHECK):
	$(call tool,honnef.co/go/tools/cmd/staticcheck)
$(GOVULNCHECK):
	$(call tool,golang.org/x/vuln/cmd/govulncheck)
$(PROTOC_GEN_GO):
	$(call tool,google.golang.org/protobuf/cmd/protoc-gen-go)
$(PROTOC_GEN_GO_GRPC):
	$(call tool,google.golang.org/grpc/cmd/protoc-gen-go-grpc)
