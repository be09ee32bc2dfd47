#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that the README's C example, of 30 lines, compiles with pkg-config and runs. By taking the
# first ```c block out of README.md, building it against an installed tree, and running it: what it
# prints, and exit status 0.
set -u

readme=$RIG5_SOURCE_DIR/README.md
. "$RIG5_SOURCE_DIR/tests/tools/_install.sh"

awk '/^```c$/ { inside = 1; next } /^```$/ && inside { exit } inside' "$readme" >"$work/example.c"
lines=$(wc -l <"$work/example.c")
if ((lines < 1 || lines > 30)); then
	echo "README.md's C example has $lines lines"
	exit 1
fi
flags=$(pkg-config --cflags --libs rig5) || exit 1
# shellcheck disable=SC2086
"${cc[@]}" "$work/example.c" $flags -o "$work/example" || exit 1
said=$(timeout 30 "$work/example")
status=$?
echo "$said"
((status == 0)) || echo "the example ended with status $status"
[[ $said == "done: hello through the NIC" ]] || status=1
exit $status
