#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# unprivileged.sh <build directory> - the tests that use more than one thread or process once more,
# as nobody, with process_vm_* and userfaultfd refused (tests/proc/deny.c).
#
# In a directory of its own: nobody may not write in the build directory, which is why
# the tests that install are left out. Exit status 1 if a test fails; 77 if nobody may not read the
# build.
set -u

build=$(cd "${1:?usage: unprivileged.sh <build directory>}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 777 "$work"
echo "subdirs(\"$build/tests\")" >"$work/CTestTestfile.cmake"

deny=$build/tests/deny
if ! (cd "$work" && TMPDIR=$work HOME=$work "$deny" test -x "$deny"); then
	echo "Nobody may not read $build: the unprivileged run is skipped"
	exit 77
fi
cd "$work" || exit 1
TMPDIR=$work HOME=$work "$deny" ctest --output-on-failure --no-label-summary --no-tests=error -j 2 \
	-L '^(unit|proc|tools|run)$' -LE '^long$' \
	-E '^(tools\.(installed_tree|readme_example)|unit\.(abi|base|fault|nic|kern)_.*)$' </dev/null
