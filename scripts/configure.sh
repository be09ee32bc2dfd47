#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# configure.sh <build directory> [cmake option]... - runs cmake, and says something only when it
# fails or warns. A build directory that exists keeps its generator.
set -u

build=$1
shift
generator=()
[[ -e $build/CMakeCache.txt ]] || generator=(-G Ninja)
exec cmake -S . -B "$build" "${generator[@]}" "$@" >/dev/null
