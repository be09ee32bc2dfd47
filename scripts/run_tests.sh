#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# run_tests.sh <build directory> [ctest option]... - runs the tests. Those of several processes
# run alone, the rest two at a time.
set -u

build=$1
shift
exec ctest --test-dir "$build" --output-on-failure --no-label-summary --no-tests=error \
	-j 2 "$@" </dev/null
