# Lintel's tasks. Nothing but Go and git is needed for build, test and demo.
GO        ?= go
IMAGE     ?= lintel
TESTFLAGS ?=
PACKAGES  ?= ./...
BENCHTIME ?= 1s
FUZZTIME  ?= 5s
REPO      ?= .
FLAGS     ?=
N         ?= 200
POLICIES  ?= testdata/sample/policies
GORELEASER_VERSION ?= v2.16.0

# Without C the program is one static file, and takes a third less memory: with it, the linker keeps every symbol
# for kustomize's Go plugins, which Lintel never loads, unless the tag kustomize_disable_go_plugin_support is set. Nothing
# in a module can set that for "go install". The race detector alone needs C.
export CGO_ENABLED ?= 0

.PHONY: all help build test test-all race soak demo picture deploy-check bench blame-proof replay texts admission-truth same lint fmt vet staticcheck fuzz-smoke image chart release-check clean

all: build

## help: the targets
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## build: the program, as bin/lintel
build:
	$(GO) build -o bin/lintel ./cmd/lintel

# Test programs are linked without what debuggers read, which halves that, and "make vet" vets them.
CHEAP = -vet=off -ldflags=-w

## test: tests of every package, without those that take long (flags in TESTFLAGS, some packages in PACKAGES)
test: # the garbage collector runs less often, which saves a quarter of what renderings take
	GOGC=$${GOGC:-300} $(GO) test $(CHEAP) -short $(TESTFLAGS) $(PACKAGES)

## test-all: all tests (flags in TESTFLAGS, some packages in PACKAGES)
test-all:
	$(GO) test $(CHEAP) $(TESTFLAGS) $(PACKAGES)

## race: all tests with the race detector (needs a C compiler)
race:
	CGO_ENABLED=1 $(MAKE) test-all TESTFLAGS='-race $(TESTFLAGS)'

## soak: 300 checks a minute over 20 installations, and a hostile one beside 25 repositories (half an hour; needs node)
soak:
	$(GO) test ./bot/worker -run 'TestStandinPace$$|TestStandinIsolation' -soak -v -timeout 90m

## demo: a pull request is checked, end to end, on this machine
demo: build
	$(GO) run ./bot/githubtest/demo -lintel bin/lintel

## picture: the picture of the page in the README, as testdata/page.png (needs chromium)
picture: build
	@dir="$$(mktemp -d)" && trap 'rm -rf "$$dir"' EXIT && cp -r testdata/sample "$$dir/fleet" && cd "$$dir/fleet" && \
	  export GIT_AUTHOR_NAME=l GIT_AUTHOR_EMAIL=l@l.example GIT_COMMITTER_NAME=l GIT_COMMITTER_EMAIL=l@l.example && \
	  git init -q -b main && git remote add origin https://github.com/octo-org/fleet && git add -A && git commit -q -m base && \
	  git checkout -q -b change && cp -r "$(CURDIR)/testdata/sample-change/." . && git add -A && git commit -q -m change && \
	  { "$(CURDIR)/bin/lintel" check --no-cache -o html > "$$dir/page.html" || [ $$? -eq 1 ]; } && \
	  timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1120,1084 \
	    --screenshot="$(CURDIR)/testdata/page.png" "file://$$dir/page.html" 2>/dev/null

## deploy-check: deploy/ keeps deploy/policies: both overlays, every rule decided, every rule known to bite
deploy-check: build
	@bin/lintel test deploy/policies
	@bin/lintel test -o json deploy/policies | grep -q '"excluded": 0' || { echo "a test of deploy/policies compares nothing: lintel test --all"; exit 1; }
	@bin/lintel check --all --worktree --no-cache
	@report="$$(bin/lintel check --all --worktree --no-cache -o json)"; for want in '"conclusion": "success"' '"roots": 2'; do \
	  echo "$$report" | grep -q "$$want" || { echo "the check of deploy/ needs $$want"; exit 1; }; done

## bench: the benchmarks, for benchstat
bench: build
	LINTEL_BINARY=$(CURDIR)/bin/lintel $(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

## blame-proof: try the origins of a repository's fields (REPO=path, FLAGS for more)
blame-proof:
	$(GO) run ./render/rendertest/blame-proof -repo '$(REPO)' $(FLAGS)

## replay: check the last N commits of a repository and print what that costs (REPO=path, POLICIES=folder, FLAGS for more)
replay:
	$(GO) run ./checks/checkstest/replay -repo '$(REPO)' -n '$(N)' -policies '$(POLICIES)' $(FLAGS)

## admission-truth: compare what an API server on this machine refuses with what Lintel says (KUBECONFIG=path, MANIFESTS=folders, FLAGS for more)
admission-truth:
	$(GO) run ./checks/checkstest/admission-truth -kubeconfig '$(KUBECONFIG)' -manifests '$(MANIFESTS)' $(FLAGS)

## texts: print every text that a person can see, with its file and line
texts:
	@$(GO) run ./checks/checkstest/texts

## same: compare what two programs print over clones of public repositories (OLD=program, NEW=bin/lintel, SAME_REPOS=folder)
same: build
	@OLD='$(OLD)' NEW='$(or $(NEW),bin/lintel)' SAME_REPOS='$(SAME_REPOS)' .ci/same

## lint: formatting, vet and staticcheck
lint: fmt vet staticcheck

fmt:
	@out="$$(gofmt -l $$(git ls-files -co --exclude-standard -- '*.go' 2>/dev/null || find . -name '*.go'))"; \
	if [ -n "$$out" ]; then echo "not formatted by gofmt:"; echo "$$out"; exit 1; fi

vet:
	$(GO) vet ./...

staticcheck:
	$(GO) tool staticcheck ./...

## fuzz-smoke: each fuzz target for FUZZTIME
fuzz-smoke:
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; done

## image: the container image
image:
	docker build -f deploy/Dockerfile -t $(IMAGE) .

## chart: the Helm chart of the App, deploy/chart, as dist/lintel-VERSION.tgz (CHART_VERSION)
CHART_VERSION ?= $(shell git describe --tags --match 'v[0-9]*' 2>/dev/null || echo 0.0.0-untagged)
chart:
	@deploy/pack-chart '$(CHART_VERSION)' dist "$$(git log -1 --format=%ct 2>/dev/null || echo 0)"

## release-check: the release of HEAD as far as one machine can make it, into dist/; it says what it leaves out
release-check:
	@GORELEASER_VERSION=$(GORELEASER_VERSION) deploy/release-check

clean:
	rm -rf bin dist
