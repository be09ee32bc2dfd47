#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# compile.sh <build directory> <jobs> [target]... - builds the targets, or all; shows progress on
# a terminal, and only what goes wrong elsewhere.
set -u

build=$1 jobs=$2
shift 2
targets=()
(($#)) && targets=(--target "$@")
quiet=()
[[ -t 1 ]] || quiet=(-- --quiet)
[[ -t 1 ]] || echo "Building in $build"
exec cmake --build "$build" -j "$jobs" "${targets[@]}" "${quiet[@]}"
