# Every target sets up what it needs; `make setup` alone prepares the virtual environment.
PYTHON ?= python3
CLUSTER ?= embedded
NEWEST := 1.37.1
VERSION ?= $(NEWEST)
# Older versions have some gates off that stories need; GATES=A=true,B=false sets others, GATES= none.
GATES ?= needed
# kindest/node:v1.37.1 takes a registry's node image instead of making one.
KIND_IMAGE ?=
# Tests also wait; stories do most of all for containers to start and to end.
CORES := $(shell nproc 2>/dev/null || echo 2)
JOBS ?= $(shell expr $(CORES) + 1)
TESTS ?= tests
E2E_JOBS_embedded := $(shell expr $(CORES) + 1)
E2E_JOBS_binaries := $(shell expr $(CORES) \* 3)
E2E_JOBS_kind := $(shell expr $(CORES) \* 3)
E2E_JOBS ?= $(E2E_JOBS_$(CLUSTER))
# Seconds that one story may take.
E2E_TIMEOUT_embedded := 120
E2E_TIMEOUT_binaries := 600
E2E_TIMEOUT_kind := 900
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Compiling our modules at each start would take as long as starting a cluster does.
unexport PYTHONDONTWRITEBYTECODE

# Said before anything is done: what a target of clusters would otherwise ignore, or not know.
BACKENDS_e2e := embedded binaries kind
BACKENDS_e2e-leftovers := binaries kind
BACKENDS_e2e-upstream := embedded binaries kind
# Where nobody says which, leftovers are those of binaries.
LEFTOVERS_ON := $(if $(filter file,$(origin CLUSTER)),binaries,$(CLUSTER))
refuse = $(if $(filter $(2),$(BACKENDS_$(1))),,$(error CLUSTER=$(2): for make $(1) there are $(BACKENDS_$(1)))) \
	$(if $(and $(KIND_IMAGE),$(filter-out kind,$(2))),$(error KIND_IMAGE=$(KIND_IMAGE) is of kind clusters; add CLUSTER=kind, or leave it out))
$(if $(filter e2e,$(MAKECMDGOALS)),$(call refuse,e2e,$(CLUSTER)))
$(if $(filter e2e-upstream,$(MAKECMDGOALS)),$(call refuse,e2e-upstream,$(CLUSTER)))
$(if $(filter e2e-leftovers,$(MAKECMDGOALS)),$(call refuse,e2e-leftovers,$(LEFTOVERS_ON)))

.PHONY: help setup setup-kind demo check test vectors e2e e2e-matrix e2e-attacks e2e-upstream e2e-leftovers lint lint-sources vet bench clean ready-embedded ready-binaries ready-kind lacks-embedded lacks-binaries lacks-kind

help:
	@echo "make setup   create .venv with drakit (editable) and all that the tests need"
	@echo "make setup-kind  the same with what kind clusters need; make e2e CLUSTER=kind does it by itself"
	@echo "make demo    a DGX A100 and a TPU pool in a cluster, claims running, pictures of who got what  [CLUSTER=embedded|binaries]"
	@echo "make check   ruff, import-linter and the tests that start no other program and take moments; under a minute"
	@echo "make test    unit tests and recorded vectors            [ARGS='-k quantity' TESTS=tests/api]"
	@echo "make vectors Kubernetes' own API server, controllers, allocator, CEL and readers are asked again all that is recorded"
	@echo "                 of them, and what differs is printed; needs Go  [VERSION=1.37.1]"
	@echo "make e2e     the end-to-end suite                       [CLUSTER=embedded|binaries|kind VERSION=1.37.1 ARGS='-k tpu'"
	@echo "                 GATES=A=true,B=false; default: needed, those that stories need and a version has off"
	@echo "                 KIND_IMAGE=kindest/node:v1.37.1, of kind; without it one is made: Go and root]"
	@echo "make e2e-matrix  gates, emulated versions and version skew, on ours and on Kubernetes'; writes docs/compatibility.md"
	@echo "                 [ARGS='-k 1.36.3' runs some rows, ARGS='--cluster embedded' on one backend]"
	@echo "make e2e-leftovers  that real components leave nothing on this machine, even if killed [CLUSTER=binaries|kind]"
	@echo "make e2e-attacks  what somebody who means harm does to a cluster, and what must hold afterwards"
	@echo "                 [SECONDS=2 for each random attack, SEED=N repeats the run that printed it]"
	@echo "make e2e-upstream  Kubernetes' own tests of DRA and of the API machinery, compared with lists of those that fail and why; needs Go"
	@echo "                 [REAL=scheduler,controllers, or CLUSTER=binaries (as root) or kind: all is Kubernetes', also nodes"
	@echo "                 ARGS='-k admin' runs those with a matching name, ARGS='--suite dra', ARGS='--jobs 4']"
	@echo "make lint    ruff, mypy --strict, import-linter, shellcheck; where Go is, gofmt and go vet"
	@echo "make bench   timings, one table each                    [ARGS='startup latency', ARGS=--list names all]"
	@echo "make clean   remove .venv, dist and build"

setup: $(STAMP)

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# uv takes seconds where pip takes a minute; but it reads no pip.conf, which may have the only registry there is.
install = $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || \
	{ $(PIP) --upgrade 'pip>=25.1' && $(PIP) $(1); }

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	-$(PIP) uv
	$(call install,--editable . --group dev)
	@touch $@

# The extra is only for those who use it.
setup-kind: $(STAMP).kind

$(STAMP).kind: $(STAMP)
	$(call install,--editable '.[kind]')
	@touch $@

demo: setup $(if $(filter binaries,$(CLUSTER)),ready-binaries)
	$(BIN)/drakit demo --cluster $(CLUSTER) $(ARGS)

# What one waits for after each change. tests/slow_marks.py and tests/quick.py say which test lacks the mark of the slow.
check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -p tests.quick $(TESTS) -n $(CORES) -o timeout=20 $(ARGS)

test: setup
	$(BIN)/python -m pytest $(TESTS) -n $(JOBS) $(ARGS)

vectors: setup ready-binaries
	$(BIN)/python -m tests.vectors.record check --version $(VERSION)

# Defaults are for a cluster that is started; beside one that is there pytest refuses what says how to start one.
IS_THERE := $(findstring cluster-kubeconfig,$(ARGS))
unless = $(if $(and $(1),$(filter file,$(origin $(2)))),,$(3))
# With a node image of the user's, its tag says the version; VERSION=... says it where the tag does not.
ASKED := $(call unless,$(IS_THERE),CLUSTER,--drakit-cluster $(CLUSTER)) \
	$(call unless,$(IS_THERE)$(KIND_IMAGE),VERSION,--drakit-kubernetes-version $(VERSION)) \
	$(call unless,$(IS_THERE),GATES,--drakit-feature-gates "$(GATES)")

# As root there are real nodes, unless the user says which components are real.
LACKS := $(if $(findstring drakit-real,$(ARGS))$(DRAKIT_REAL),,lacks-)

e2e: setup $(if $(IS_THERE),,$(LACKS:%=%$(CLUSTER)) ready-$(CLUSTER))
	$(BIN)/python -m pytest e2e $(ASKED) \
		-n $(E2E_JOBS) --dist worksteal -o timeout=$(E2E_TIMEOUT_$(CLUSTER)) \
		$(if $(KIND_IMAGE),--drakit-kind-image $(KIND_IMAGE)) $(ARGS)

# The whole of it builds what is missing of four Kubernetes versions, about 20 minutes each; then it takes 20 minutes.
# Some of its rows run in kind as well, where Docker is.
e2e-matrix: setup $(if $(or $(if $(ARGS),,whole),$(findstring kind,$(ARGS))),setup-kind)
	$(BIN)/python -m e2e.matrix $(ARGS)

e2e-attacks: setup
	$(BIN)/python -m pytest e2e/attacks -n $(JOBS) $(if $(SECONDS),--attack-seconds $(SECONDS)) $(if $(SEED),--attack-seed $(SEED)) $(ARGS)

# Built once, in two minutes where the components are built already, in ten otherwise.
e2e-upstream: setup lacks-$(CLUSTER) $(if $(REAL),ready-binaries) ready-$(CLUSTER)
	$(BIN)/python -m e2e.upstream --cluster $(CLUSTER) $(if $(REAL),--real $(REAL)) \
		$(if $(KIND_IMAGE),--kind-image $(KIND_IMAGE)) $(ARGS)

e2e-leftovers: setup lacks-$(LEFTOVERS_ON) ready-$(LEFTOVERS_ON)
	$(BIN)/python -m pytest e2e/machine --drakit-cluster $(LEFTOVERS_ON) -o timeout=$(E2E_TIMEOUT_$(LEFTOVERS_ON)) \
		$(if $(KIND_IMAGE),--drakit-kind-image $(KIND_IMAGE)) $(ARGS)

# What real nodes lack here is said before anything is built.
lacks-embedded lacks-kind:

lacks-binaries: setup
	@$(BIN)/python -m drakit_kind.nodes.requirements

ready-embedded:

# Nothing is built that the user has, or that is built already. What is not Kubernetes' own, such as etcd and
# containerd, comes with the newest version for all of them.
build = $(if $(DRAKIT_KUBERNETES_DIR),$(BIN)/drakit kubernetes build $(VERSION) --lacking $(1),\
	$(foreach version,$(sort $(NEWEST) $(VERSION)),$(BIN)/drakit kubernetes build $(version) &&) true)

ready-binaries: setup
	$(call build,binaries)

# Images are made before the stories begin: it takes longer than a story may.
ready-kind: setup-kind
	$(if $(KIND_IMAGE),,$(call build,kind))
	$(if $(KIND_IMAGE),,$(BIN)/drakit kind node-image $(VERSION))
	$(BIN)/drakit kind driver-image

lint: lint-sources vet

# All that needs nothing compiled.
lint-sources: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	VENV=$(VENV) .ci/lint

vet:
	.ci/vet

bench: setup
	$(BIN)/python -m bench $(ARGS)

clean:
	rm -rf $(VENV) dist build
