# SPDX-License-Identifier: BSD-3-Clause
#
# Each target is enough by itself on a fresh Debian 12 or Ubuntu 24.04: it installs what is
# missing, builds what it needs, and does its work. A second run repeats nothing that is done.

# The MPIs to build for: the one that is installed, else Open MPI. `make build MPI="openmpi mpich"`
# builds for both, each in a tree of its own.
named := $(strip $(foreach mpi,openmpi mpich,$(if $(shell command -v mpirun.$(mpi)),$(mpi))))
MPI   ?= $(firstword $(or $(named),$(plain),openmpi))

# The MPI that mpirun starts: that of a module or of conda has no other name.
plain  = $(shell mpirun --version 2>&1 | sed -n 's/.*Open MPI.*/openmpi/p; s/.*HYDRA.*/mpich/p')

tree_openmpi := release
tree_mpich   := mpich
tree_smpi    := smpi
trees        := $(foreach mpi,$(MPI),$(tree_$(mpi)))
trees_known  := release mpich smpi asan
# What needs no MPI is built in the first tree of a real MPI that is asked for.
tree_free    := $(firstword $(filter-out smpi,$(trees)))

# The first of these that is new enough makes the virtual environment.
pythons    := /usr/bin/python3 python3
new_enough := import sys; sys.exit(sys.version_info < (3, 10))
system      = $(or $(shell for one in $(pythons); do \
  $$one -c '$(new_enough)' 2>/dev/null && echo $$one && break; done),python3)

python   := .venv/bin/python
lanewise := .venv/bin/lanewise

# Of two trees that are built beside each other, each has as many compilers as there are cores. More
# would only take the caches of the processor from one another.
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc)

demo_mpi    := $(firstword $(filter-out smpi,$(MPI)))
demo_mpirun  = $(if $(filter $(plain),$(demo_mpi)),mpirun,mpirun.$(demo_mpi))
demo_launch  = $(demo_mpirun) $(if $(filter openmpi,$(demo_mpi)),--oversubscribe)

# Recipes print what they do in words; make V=1 shows each command.
$(V).SILENT:
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

help: ## List the targets
	echo "Lanewise $$(cat VERSION) measures, tunes and fault-tests the communication of parallel"
	echo "programs, on a laptop or a cluster."
	echo "Each of these first installs what is missing:"
	awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

build: known-mpi packages-build .venv/installed ## Build the programs for the MPI that is installed
	packaging/bootstrap.sh $(MPI) || command -v mpicc >/dev/null
	for tree in $(trees); do $(MAKE) programs-$$tree || exit 1; done
	echo "Built. The command is $(lanewise); try $(lanewise) doctor"

demo: export OMPI_ALLOW_RUN_AS_ROOT := 1
demo: export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
demo: known-mpi announce-demo packages-demo build ## Show on one page what Lanewise does here
	$(python) -m examples.demo demo build/$(tree_free)/bin -- $(demo_launch)

# An environment module may export MPI for its own purposes, so only targets that use it check it.
known-mpi:
	$(if $(strip $(MPI)),,$(error MPI is empty; name one or more of openmpi, mpich and smpi))
	$(foreach mpi,$(filter-out openmpi mpich smpi,$(MPI)), \
	  $(error there is no MPI '$(mpi)'; name one or more of openmpi, mpich and smpi))

announce-demo:
	$(if $(demo_mpi),,$(error make demo launches real ranks; name openmpi or mpich))
	echo "The demonstration installs packages, builds and then measures for three minutes. On two"
	echo "cores the whole takes 6 to 11 minutes the first time. The page will be demo/index.html"

test: build-tests ## Run the daily suites
	$(python) tests/run.py

test-all: build-tests packages-extra ## Also newer MPIs, Clang, threads, a kernel's RDMA
	$(python) tests/run.py --all

# .venv/bin/python tests/mutants --help lists the options, such as --jobs.
mutants: packages-test .venv/installed-dev ## Change sources a little, and see whether tests notice
	$(python) tests/mutants $(MUTANTS)

experiments: build ## Build the programs of `lanewise reproduce` as well
	packaging/bootstrap.sh smpi
	$(MAKE) build/smpi/build.ninja
	for tree in $(or $(filter-out mpich,$(trees)),$(trees)) smpi; do \
	  cmake -DLANEWISE_EXPERIMENTS=ON build/$$tree >build/$$tree.log && \
	  cmake --build build/$$tree --target all experiments -- --quiet || exit 1; \
	done

bench: build-tests packages-bench ## Run the benchmarks and reproduce the papers' figures
	cmake --preset release -DLANEWISE_BENCHMARKS=ON >build/release.log
	cmake --build build/release --target all experiments -- --quiet
	cmake --build build/smpi --target all experiments -- --quiet
	$(python) tests/bench.py

format: .venv/installed-dev ## Format C, C++ and Python sources
	git ls-files '*.c' '*.h' '*.cpp' '*.hpp' | xargs .venv/bin/clang-format -i
	.venv/bin/ruff format -q python experiments examples tests docs/site/*.py
	.venv/bin/ruff check -q --fix python experiments examples tests docs/site/*.py

reference: build ## Write docs/reference and the man pages, docs/man, from the programs
	$(python) -m lanewise.cli.reference docs schema

# A warning is an error. The pages are checked by `make test` as well.
site: packages-docs .venv/installed-docs ## Build the documentation as a web site, build/site
	$(python) -m sphinx -q -W --keep-going -c docs/site . build/site
	echo "Built. Open build/site/index.html"

clean: ## Remove what was built and measured
	rm -rf build .venv .venv-mpi demo bench reproduce

packages-build packages-demo packages-docs packages-extra packages-bench: packages-%:
	packaging/bootstrap.sh $*

packages-harness:
	packaging/bootstrap.sh build openmpi mpich smpi harness

packages-test: packages-harness
	packaging/bootstrap.sh demo test

# Without tests and experiments a tree builds in half the time and needs no GoogleTest. A tree that
# was once configured with them, or with the code that needs no MPI, keeps them. Ninja notices by
# itself when a CMake file changes.
with_free  = -DLANEWISE_MPI_FREE=ON
has_free   = $(shell grep -s '^LANEWISE_MPI_FREE:.*=ON' build/$*/CMakeCache.txt)
define configure
	mkdir -p build
	echo "Configuring $*"
	cmake --preset $* -DLANEWISE_TESTS=$(1) -DLANEWISE_BENCHMARKS=OFF \
	  -DLANEWISE_EXPERIMENTS=$(if $(filter mpich,$*),OFF,$(1)) \
	  $(if $(filter $*,$(tree_free))$(has_free),$(with_free)) >build/$*.log 2>&1 || \
	  { cat build/$*.log >&2; exit 1; }
endef

$(trees_known:%=build/%/build.ninja): build/%/build.ninja:
	$(call configure,OFF)

$(trees_known:%=build/%/tests): build/%/tests: | packages-harness
	$(call configure,ON)
	touch $@

$(trees_known:%=programs-%): programs-%: build/%/build.ninja
	$(if $(filter $*,$(tree_free)),$(if $(has_free),,cmake $(with_free) build/$* >build/$*.log))
	echo "Building $*"
	$(system) cmake/build_and_time.py build/$*

# Nobody runs the other programs of these trees; make test-all builds them.
targets_asan := --target daily_programs
targets_smpi := --target daily_programs lanewise-native

$(trees_known:%=tests-%): tests-%: build/%/tests
	echo "Building $* with its tests"
	cmake --build build/$* $(targets_$*) -- --quiet

# Each tree ends with a file or two that keep one core busy. The sanitizers' tree shares nothing
# with the others, so it is built beside them, and what only runs in the tests is installed
# meanwhile. The others come in turn: the compiler's cache gives a tree what the one before it has
# compiled.
build-tests: packages-harness
	$(MAKE) packages-test & packages=$$!; \
	$(MAKE) .venv/installed-dev & environment=$$!; \
	$(MAKE) tests-asan & sanitized=$$!; \
	$(MAKE) $(patsubst %,tests-%,$(filter-out asan,$(trees_known))); built=$$?; \
	wait $$sanitized || built=1; \
	wait $$packages || built=1; \
	wait $$environment && exit $$built

# The name that this target had until version 0.2.
tests: build-tests

# Python compiles a module when it is imported first; most of these packages' never are.
pip := $(python) -m pip install -q --disable-pip-version-check --no-compile

# Without the package python3-venv an environment has no pip, and a make before this one may have
# left it like that.
.venv/pyvenv.cfg: $(if $(wildcard .venv/bin/pip),,without-pip) | packages-build
	echo "Making a virtual environment with $(system)"
	$(system) -c '$(new_enough)' || { \
	  echo "$(system) is no Python 3.10 or newer; name one: make system=python3.12 build" >&2; \
	  exit 1; }
	$(system) -m venv .venv

.venv/installed: pyproject.toml VERSION .venv/pyvenv.cfg
	echo "Installing the Python packages"
	$(pip) -e .
	touch $@

.venv/installed-dev: pyproject.toml VERSION .venv/pyvenv.cfg
	echo "Installing the Python packages that tests need"
	$(pip) -e '.[dev]'
	touch $@ .venv/installed

.venv/installed-docs: pyproject.toml VERSION .venv/pyvenv.cfg
	echo "Installing the Python packages that the site needs"
	$(pip) -e '.[docs]'
	touch $@ .venv/installed

without-pip:

.PHONY: help known-mpi build experiments demo announce-demo test test-all mutants bench \
  format reference site clean build-tests tests without-pip \
  $(trees_known:%=programs-%) $(trees_known:%=tests-%) \
  packages-build packages-demo packages-docs packages-harness packages-test packages-extra \
  packages-bench
.NOTPARALLEL:
# venv leaves a file that looks complete where it fails halfway, as without python3-venv.
.DELETE_ON_ERROR:
