# Every target does its own set-up (Debian packages, configure, build). `make help` lists them.
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 30
PROGRAM ?= operator-manager
VERSION := $(shell sed -n 's/^project.* VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
export CTEST_PARALLEL_LEVEL ?= $(JOBS)

configure = @cmake --log-level=WARNING --preset $(1) >/dev/null || cmake --preset $(1)
build = @cmake --build --preset $(1) -j$(JOBS)

.PHONY: help
help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run build
run: build ## build, then a local cluster with the operators and their samples on it, until Ctrl-C
	@tools/deps run
	@build/bin/kopper up --demo
build: ## the programs, optimised, in build/bin/
	@tools/deps build
	$(call configure,release)
	$(call build,release)

.PHONY: test test-real test-peers soak tsan coverage
test: ## every hermetic test, under ASan and UBSan
	@tools/deps build run test
	$(call configure,dev)
	$(call build,dev)
	@ctest --preset dev
test-real: ## the suites against a real kube-apiserver and etcd
	@tools/deps build run test real
	@tools/real-apiserver build >/dev/null
	@tools/real-apiserver build --version 1.20 >/dev/null
	@bench/peers/run --build --peers go
	$(call configure,dev)
	$(call build,dev)
	@ctest --preset real --parallel 1
test-peers: ## the Memcached operators on controller-runtime and kube-rs, on kopper cluster (Rust: minutes, once)
	@tools/deps build run test real
	@bench/peers/run --build --peers go,rust
	$(call configure,dev)
	@cmake --build --preset dev -j$(JOBS) --target peers_test kopper
	@ctest --test-dir build/dev -L peers -R on_kopper --output-on-failure
soak: ## 30 minutes of random life and faults against a real server (SECONDS_OF_SOAK=n)
	@tools/deps build run test real
	@tools/real-apiserver build >/dev/null
	@cmake --preset release -B build/soak -DBUILD_TESTING=ON -DCMAKE_RUNTIME_OUTPUT_DIRECTORY= >/dev/null
	@cmake --build build/soak --target real_soak_test
	KOPPER_SOAK_SECONDS=$(or $(SECONDS_OF_SOAK),1800) build/soak/tests/real/real_soak_test
tsan: ## the hermetic tests under ThreadSanitizer
	@tools/deps build run test
	$(call configure,tsan)
	$(call build,tsan)
	@ctest --preset tsan
coverage: ## line and branch coverage of the hermetic tests
	@tools/deps build run test coverage
	$(call configure,coverage)
	$(call build,coverage)
	@ctest --preset coverage
	@gcovr --root . --filter src/ --exclude '.*_test\.cc' --exclude 'src/kopper/api/gen/' --exclude-throw-branches build/coverage

.PHONY: image manifests
image: build ## build/operator-manager.tar: the image, for docker load, ctr image import, kind …
	@tools/deps image
	@tools/image --program build/bin/$(PROGRAM) --tag $(PROGRAM):$(VERSION) --output build/$(PROGRAM).tar
manifests: build ## deploy/operator-manager.yaml: all that a cluster needs to run that image
	@tools/manifests

.PHONY: check tidy format
check: ## format, layers, headers, coroutine lint, tidy of what changed: what a change must pass
	@tools/deps build run test check
	@tools/check
tidy: ## clang-tidy over the whole tree
	@tools/deps build run test check
	@tools/check --tidy-all
format: ## clang-format in place
	@tools/deps check
	@git ls-files '*.h' '*.cc' | grep -v /api/gen/ | xargs clang-format-19 -i

.PHONY: fuzz bench bench-cluster bench-peers
fuzz: ## each fuzzer for FUZZ_SECONDS=30 on a copy of its corpus
	@tools/deps build fuzz
	$(call configure,fuzz)
	@cmake --build --preset fuzz -j$(JOBS) --target fuzzers
	@tools/fuzz build/fuzz $(FUZZ_SECONDS) $(JOBS)
bench: ## the benchmarks, optimised
	@tools/deps build bench
	$(call configure,bench)
	$(call build,bench)
	@for b in build/bench/bench/*_bench; do echo "== $${b##*/}"; $$b || exit 1; done

bench-cluster: ## kopper cluster against kube-apiserver with etcd, one table
	@tools/deps build bench real
	@tools/real-apiserver build >/dev/null
	$(call configure,bench)
	@cmake --build --preset bench -j$(JOBS) --target cluster-load kopper
	@bench/cluster/run

bench-peers: ## ours against controller-runtime and kube-rs, one table (half an hour)
	@tools/deps build bench real
	@tools/real-apiserver build >/dev/null
	$(call configure,bench)
	@cmake --build --preset bench -j$(JOBS) --target kopper-peer
	@bench/peers/run

.PHONY: deps clean
deps: ## install every package that any target needs
	@tools/deps
clean: ## remove build/
	@rm -rf build
