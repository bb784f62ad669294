# SPDX-License-Identifier: BSD-3-Clause
#
# Each target is enough by itself on a fresh Debian 12 or Ubuntu 24.04: it installs what is
# missing, builds, and does its work.  A second run repeats nothing that is already done.

built    := release mpich smpi
presets  := $(built) asan
system   := $(if $(wildcard /usr/bin/python3),/usr/bin/python3,python3)
python   := .venv/bin/python
lanewise := .venv/bin/lanewise
stamp    := .venv/installed

# Measured for the demonstration: 21 sizes of each, at most 1.5 seconds a point.
demo_operations := pingpong scatter gather bcast allreduce
demo_launch     := $(if $(shell command -v mpirun.openmpi),mpirun.openmpi,mpirun) --oversubscribe
demo_options    := -n 4 --sizes 1:1M:x2 --repetitions 100:2000 --time-limit 1.5

# Recipes speak for themselves; make V=1 shows each command.
$(V).SILENT:
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

help: ## Say what each target does
	echo "Lanewise $$(cat VERSION) measures how fast data moves between MPI ranks."
	echo "Each of these first installs what is missing:"
	awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

build: packages-build $(stamp) $(built:%=build-%) ## Build for Open MPI, MPICH and SMPI
	echo "Built. The command is $(lanewise); try $(lanewise) doctor"

demo: export OMPI_ALLOW_RUN_AS_ROOT := 1
demo: export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
demo: packages-demo build ## Measure, fit, tune and run a program, and write demo/report.html
	mkdir -p demo
	rm -rf demo/*.json demo/*.jsonl demo/*.evidence demo/fit demo/suite
	$(lanewise) measure $(demo_operations) $(demo_options) -o demo/samples.jsonl
	$(lanewise) fit --measure -n 2 --samples demo/fit -o demo/platform.json
	$(lanewise) tune scatter gather allreduce -n 4 --budget 2min -o demo/tuning.json
	$(lanewise) run --tuning demo/tuning.json --turns 6 -o demo/frames.json -- \
	  $(demo_launch) -n 4 build/release/bin/frames 200
	$(lanewise) run --tuning demo/tuning.json --turns 6 -o demo/lammps.json -- \
	  $(demo_launch) -n 4 lmp -in examples/lammps/in.lj -log none -screen none
	$(lanewise) report demo/samples.jsonl demo/platform.json demo/tuning.json demo/frames.json \
	  demo/lammps.json -o demo/report.html
	$(lanewise) suite --quick --budget 90s --kernels pingpong,streaming,allreduce,polling -o demo/suite
	echo "The report is $(CURDIR)/demo/report.html; fabrics compared: demo/suite/report.html"

test: packages-test build build-asan ## Run every suite of every day
	$(python) tests/run.py

test-all: packages-extra build build-asan ## Also newer MPIs, Clang, threads, clang-tidy, rdma_rxe
	$(python) tests/run.py --all

bench: build ## Run the benchmarks and reproduce the papers' figures
	$(python) tests/bench.py

format: packages-extra $(stamp) ## Lay out C, C++ and Python sources
	find include src examples tests -name '*.[ch]' -o -name '*.[ch]pp' | xargs clang-format -i
	.venv/bin/ruff format -q python tests
	.venv/bin/ruff check -q --fix python tests

clean: ## Remove what was built and measured
	rm -rf build .venv .venv-mpi demo bench reproduce

packages-build packages-demo packages-test packages-extra: packages-%:
	packaging/bootstrap.sh $*

# Configured once; ninja notices by itself when a CMake file changes.
$(presets:%=build/%/build.ninja): build/%/build.ninja: | packages-build
	echo "Configuring $*"
	mkdir -p build
	cmake --preset $* >build/$*.log 2>&1 || { cat build/$*.log >&2; exit 1; }

$(presets:%=build-%): build-%: build/%/build.ninja
	echo "Building $*"
	cmake --build build/$* -- --quiet

.venv/pyvenv.cfg: | packages-build
	echo "Making a virtual environment with $(system)"
	$(system) -c 'import sys; sys.version_info >= (3, 10) or sys.exit("Python 3.10 is needed")'
	$(system) -m venv .venv

$(stamp): pyproject.toml .venv/pyvenv.cfg
	echo "Installing the Python packages"
	$(python) -m pip install -q --disable-pip-version-check -e '.[dev]'
	touch $@

.PHONY: help build demo test test-all bench format clean $(presets:%=build-%) \
  packages-build packages-demo packages-test packages-extra
.NOTPARALLEL:
