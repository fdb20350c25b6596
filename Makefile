# What there is to make. `make` alone builds.

# Commands that are for development only are not shipped.
development := testmodel
commands    := $(filter-out $(development),$(notdir $(wildcard cmd/*)))
platforms   := darwin/arm64 darwin/amd64 windows/amd64
# Of these only the processor is another; they are shipped all the same.
alike       := linux/arm64 windows/arm64

export GOFLAGS ?= -mod=readonly

.PHONY: build test lint cross tools tools-claude plugin demo bench soak fuzz clean help

build: ## static programs into dist/
	@mkdir -p dist
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o dist/ $(addprefix ./cmd/,$(commands))

test: tools tools-claude lint cross ## everything: lint, builds for each platform, all tests with the race detector
	@scripts/need-gcc
	@scripts/test

lint: ## gofmt, vet, staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go tool -modfile=tools/go.mod staticcheck ./...

cross: ## compile for the other platforms, tests included
	@set -e; for p in $(platforms); do \
		echo "build and vet $$p"; export CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/}; \
		go build -o /dev/null $(addprefix ./cmd/,$(commands)); go vet ./...; \
	done; \
	for p in $(alike); do \
		echo "build $$p"; CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -o /dev/null $(addprefix ./cmd/,$(commands)); \
	done

tools: ## the pinned real opencode into .tools/
	@scripts/install-tools

tools-claude: ## the pinned versions of Claude Code into .tools/claude/, for the plugin and its tests
	@scripts/install-claude

plugin: tools-claude ## release folders of the plugin into dist/plugin/; PLATFORM=linux/amd64 makes one
	@scripts/plugin

demo: tools build ## one read-only and one writing delegation; MODEL=provider/model uses your own
	@scripts/demo "$(MODEL)"

bench: tools build ## what a delegation costs beside a direct call, start-up, decoder
	@go run ./internal/bench

soak: build ## 200 jobs with random kills, then what must hold all the same; SOAK="-jobs 30 -seed 7" chooses; then 500 random repositories
	@go run ./internal/soak $(SOAK)
	WORKTREE_CASES=500 go test ./internal/worktree -count=1 -timeout 2h -v -run '^(TestCopyAndItsPatch|TestUndoGivesBackTheTree|TestUndoGivesBackTheHistory|TestAnOnwardCopyHasTheWork)$$'

fuzz: ## each fuzz target for FUZZTIME (20s)
	@scripts/fuzz $(or $(FUZZTIME),20s)

clean:
	rm -rf dist

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14
