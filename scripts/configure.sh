#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# configure.sh <build directory> [cmake option]... - runs cmake, and says something only when it
# fails or warns. A build directory that exists keeps its generator.
set -u

build=$1
shift
if ! mkdir -p "$build" 2>/dev/null || [[ ! -w $build ]]; then
	echo "rig5: cannot write $build; 'make BUILD=DIRECTORY' builds elsewhere" >&2
	exit 1
fi
generator=()
[[ -e $build/CMakeCache.txt ]] || generator=(-G Ninja)
exec cmake -S . -B "$build" "${generator[@]}" "$@" >/dev/null
