#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that the README's commands on a bad network do what they say, as they stand there. By taking
# the lines that begin with RIG5_FAULT out of README.md and running them: a row for each size, and
# exit status 0.
set -u
rig5=$1/rig5
sizes=6
failures=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mapfile -t lines < <(sed -n 's/^    \(RIG5_FAULT=.*\)$/\1/p' "${RIG5_SOURCE_DIR:?}/README.md")
((${#lines[@]} > 0)) || { echo "README.md has no such line"; exit 1; }
for line in "${lines[@]}"; do
	read -r fault command words <<<"$line"
	[[ $command == build/rig5 ]] || { echo "not a command of ours: $line"; exit 1; }
	# shellcheck disable=SC2086
	env "$fault" timeout 50 "$rig5" $words >"$work/out" 2>&1
	status=$?
	rows=$(grep -cE '^ [0-9]+ +[0-9]+ ' "$work/out")
	((status == 0 && rows == sizes)) && continue
	cat "$work/out"
	echo "FAILED: $line: status $status, $rows rows"
	failures=$((failures + 1))
done
exit $((failures != 0))
