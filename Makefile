# What people run. `make demo` and `make test` install what they need first.

.PHONY: deps build demo check test test-all lint bench bench-peers bench-torch isa clean web docs dist test-windows test-wgpu test-matrix test-clients test-kubernetes test-container

deps: ## Dawn, and a Vulkan driver where there is none
	@tools/deps.sh

build: web ## the program with the page in it: ./tessera
	CGO_ENABLED=0 go build -trimpath -o tessera ./cmd/native

web: ## the page, a folder for any static host: web/dist
	@tools/web.sh

demo: deps ## encode and decode the clip that ships with the project
	CGO_ENABLED=0 go run ./cmd/native demo

check: ## while working: format, vet, tests without a device, operations and small goldens
	@go run ./tools/test check

test: ## what shows the program right
	@go run ./tools/test test

test-all: ## everything, but for steps that passed with the same inputs (tests/passed)
	@go run ./tools/test all

lint: ## the checks that run nothing
	@go run ./tools/test format spelling tidy vet staticcheck govulncheck gosec cross

bench: ## conv3d against onnxruntime on the same adapter
	@tools/peers.sh -in native -only conv3d

bench-peers: ## operations and a whole decode against the best peers on the same adapters
	@tools/peers.sh $(ARGS)

bench-torch: ## the small model and the published size against PyTorch on the same processor
	@tools/torch.sh $(ARGS)

isa: ## what the compilers for AMD, NVIDIA, Intel and Adreno make of the kernels: docs/benchmarks/isa.md
	@tools/isa.sh $(ARGS)

docs: ## the documentation as a site, for any static host: build/docs
	@tools/docs.sh $(ARGS)

dist: ## archives for people to download: build/dist
	@tools/dist.sh

test-windows: ## the archive for Windows under Wine; needs root
	@tools/windows.sh

test-clients: ## other programs' clients against tessera serve; PARTS="comfyui" some of it
	@tools/clients.sh $(PARTS)

test-wgpu: ## the operations on wgpu, which Firefox runs WGSL with
	@tools/wgpu.sh

test-matrix: ## the kernels of subgroup matrices, computed by Mesa 26; needs root
	@tools/matrix.sh

test-kubernetes: ## the manifest against Kubernetes' own types
	@cd integrations/kubernetes && go test ./...

test-container: ## the steps of the Dockerfile without a daemon; needs root
	@tools/container.sh

clean:
	rm -rf tessera build out
