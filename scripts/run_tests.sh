#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# run_tests.sh <build directory> [ctest option]... - runs the tests. Those of several processes
# run alone, the rest two at a time.
set -u

build=$1
shift
supp=$(cd "$(dirname "$0")/.." && pwd)/tests/support/tsan.supp
export TSAN_OPTIONS="suppressions=$supp${TSAN_OPTIONS:+ $TSAN_OPTIONS}"
cd "$build" || exit 1
exec ctest --output-on-failure --no-label-summary --no-tests=error \
	-j 2 "$@" </dev/null
