#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that the README's C example compiles with pkg-config and runs. By taking the first ```c
# block out of README.md, building it against an installed tree, and running it: exit status 0.
set -u

readme=$RIG5_SOURCE_DIR/README.md
if ! grep -qs '^```c$' "$readme"; then
	echo "skipped: README.md has no C example"
	exit 77
fi
. "$RIG5_SOURCE_DIR/tests/tools/_install.sh"

awk '/^```c$/ { inside = 1; next } /^```$/ && inside { exit } inside' "$readme" >"$work/example.c"
flags=$(pkg-config --cflags --libs rig5) || exit 1
# shellcheck disable=SC2086
"${cc[@]}" "$work/example.c" $flags -o "$work/example" || exit 1
timeout 30 "$work/example"
status=$?
((status == 0)) || echo "the example ended with status $status"
exit $status
