# SPDX-License-Identifier: BSD-2-Clause
#
# The front door: each target installs what it misses, then does its job in build/.
# CMakeLists.txt is the build itself, and can be used without this file.

BUILD ?= build
SEED ?= 1
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

packages_build = gcc g++ libc6-dev cmake ninja-build pkg-config libssl-dev \
	libcmocka-dev libibverbs-dev python3
# The programs that the tests run on the software NIC, and what they build some with.
packages_check = ibverbs-utils ibverbs-providers perftest python3-pyverbs python3-scapy \
	ucx-utils libucx-dev openmpi-bin libopenmpi-dev libfabric-bin iproute2
packages_bench = valgrind ucx-utils strace iperf3 perftest ibverbs-providers
packages_fuzz = clang-14 llvm-14 libclang-rt-14-dev

.PHONY: all demo check ci bench fuzz sim figures install clean help packages
MAKEFLAGS += --no-print-directory

# (1) the build directory, (2) further options of cmake, (3) targets, none for all
configure = scripts/configure.sh $(1) $(2)
compile = scripts/compile.sh $(1) $(JOBS) $(2)

all: packages
	@$(call configure,$(BUILD))
	@$(call compile,$(BUILD))

demo: packages
	@$(call configure,$(BUILD))
	@$(call compile,$(BUILD),rig5)
	@scripts/demo.sh $(BUILD)

# All but Linux in a virtual machine, which has to be fetched: `make interop`; and what takes long.
check: packages
	@scripts/install_packages.sh $(packages_check)
	@$(MAKE) all
	@scripts/run_tests.sh $(BUILD) -LE '^(interop|long)$$'

ci: check
	@scripts/run_tests.sh $(BUILD) -L '^long$$'
	@$(MAKE) unprivileged
	@$(MAKE) sanitized
	@$(MAKE) raced

# As nobody, from whom process_vm_* and userfaultfd are withheld, as in a container: in namespaces of
# its own, with a private /dev/shm.
.PHONY: unprivileged
unprivileged: all
	@scripts/unprivileged.sh $(BUILD) || test $$? = 77

# What `make ci` adds to `make check`. The tidy tests look at optimised objects and at the tree.
.PHONY: sanitized raced
sanitized: packages
	@$(call configure,$(BUILD)-asan,-DRIG5_SANITIZE=address$(comma)undefined)
	@$(call compile,$(BUILD)-asan)
	@scripts/run_tests.sh $(BUILD)-asan -LE '^(tidy|setup|interop|long)$$'

# The thread sanitizer, over what has threads: the core, the simulator and the histories have none.
# Left out: host_port and proc.stats, whose children are forked from a process with threads and start
# threads, which the sanitizer's runtime cannot; hostile_port, one of whose members writes over
# everybody's memory on purpose; dmabuf, which stands in for calls of libc that the runtime makes while
# it starts; and tools.hostile, whose lies have to come before the end of a transfer that a slow relay
# may miss.
raced: packages
	@$(call configure,$(BUILD)-tsan,-DRIG5_SANITIZE=thread)
	@$(call compile,$(BUILD)-tsan)
	@scripts/run_tests.sh $(BUILD)-tsan -L '^(unit|proc|tools)$$' \
		-E '^(proc\.(dmabuf|host_port|hostile_port|stats)|tools\.hostile|unit\.(abi|base|fault|nic|kern)_.*)$$'

bench: packages
	@scripts/install_packages.sh $(packages_bench)
	@$(call configure,$(BUILD))
	@$(call compile,$(BUILD))
	@bench/run $(BUILD)

# Each target for SECONDS seconds, or TARGET alone; what is found stays in $(BUILD)-fuzz.
fuzz: packages
	@scripts/install_packages.sh $(packages_fuzz)
	@CC=clang-14 $(call configure,$(BUILD)-fuzz,-DRIG5_FUZZ=ON)
	@$(call compile,$(BUILD)-fuzz,fuzzers)
	@nice -n 19 scripts/fuzz.sh $(BUILD)-fuzz $(or $(SECONDS),60) $(TARGET)

# Linux's Soft-RoCE in a virtual machine is the judge; -V shows what it says.
interop: packages
	@$(call configure,$(BUILD))
	@$(call compile,$(BUILD))
	@scripts/run_tests.sh $(BUILD) -V -L interop

sim: packages
	@$(call configure,$(BUILD))
	@$(call compile,$(BUILD),sim_program)
	@$(BUILD)/sim --seed $(SEED) $(SIMFLAGS)

# Congestion control in virtual time, beside the reference model's curves.
figures: packages
	@$(call configure,$(BUILD))
	@$(call compile,$(BUILD),figures)
	@scripts/figures.py $(BUILD) $(BUILD)/congestion

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	@cmake -E rm -rf build build-asan build-debug build-release build-tsan build-fuzz

packages:
	@scripts/install_packages.sh $(packages_build)

help:
	@echo 'make          build everything in $(BUILD)/'
	@echo 'make demo     copy a file between two processes on the software NIC, and a perf table'
	@echo 'make check    build, and run every test but the longest'
	@echo 'make ci       make check, the longest, and the suite under the address, undefined and thread sanitizers'
	@echo 'make bench    measure, beside the peers; writes $(BUILD)/bench.json'
	@echo 'make fuzz     the fuzz targets, SECONDS=60 each, or TARGET=<name> alone'
	@echo 'make interop  against Linux: its Soft-RoCE in QEMU, fetched once (120 MB)'
	@echo 'make sim      one simulated world: SEED=<number>'
	@echo 'make figures  congestion control beside its model: figures, and plots in $(BUILD)/congestion'
	@echo 'make install  into PREFIX ($(PREFIX)), under DESTDIR if set'
	@echo 'make clean    remove the build directories'
	@echo
	@echo 'BUILD=DIRECTORY builds there and not in build/, as where this tree cannot be written.'

comma := ,
