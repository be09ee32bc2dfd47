#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that every program of examples/ does what it says. By running it: exit status 0; and by what
# two_algorithms prints of its two destinations: one is told of marks and measures no round trips,
# the other measures them and is told of nothing.
set -u -o pipefail

failed=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# last <destination> <nth word> - of the last line about it.
last() {
	awk -v to="$1" -v n="$2" '$1 == "to" && $2 == to { word = $n } END { print word }' "$out"
}

# so <what> <awk condition>
so() {
	awk "BEGIN { exit !($2) }" && return
	echo "FAILED two_algorithms: not so: $1 ($2)"
	cat "$out"
	failed=1
}

for source in "$RIG5_SOURCE_DIR"/examples/*.c; do
	name=$(basename "$source" .c)
	if ! timeout 20 "$RIG5_BUILD_DIR/examples/$name" | tee "$out"; then
		echo "FAILED: $name"
		failed=1
	fi
	[[ $name == two_algorithms ]] || continue
	so "a line for each destination, ten times" "$(grep -c '^to' "$out") == 20"
	so "the first has DCQCN, the second RTT" "\"$(last .2 3)$(last .3 3)\" == \"DCQCNRTT\""
	so "the first is told of marks" "$(last .2 11) > 0"
	so "the first measures no round trips" "$(last .2 8) == 0"
	so "the second is told of none" "$(last .3 11) == 0"
	so "the second measures round trips" "$(last .3 8) > 0"
done
exit $failed
