#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# fuzz.sh <build directory> <seconds> [target]... - runs the fuzz targets one after the other, each
# for that long, on top of what earlier runs in this build directory found; then their line coverage.
#
# A run is deterministic but for its seed, which is in the log. It ends at the first finding: the
# input is kept in <build directory>/findings, and `build/tests/fuzz.<target>`, or the target in
# <build directory>/fuzz, replays it. <build directory>/fuzz.log has a line for each run, with the
# time that its target has had in all. Exit status 1 if there is a finding.
set -u

build=${1:?usage: fuzz.sh <build directory> <seconds> [target]...} seconds=${2:-60}
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
targets=("$@")
log=$build/fuzz.log

# What one run may take: memory, and time for one input.
limits=(-rss_limit_mb=2048 -malloc_limit_mb=1024 -timeout=10 -max_len=4096)
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1

if ((${#targets[@]} == 0)); then
	for source in "$root"/tests/fuzz/*_fuzz.c; do
		targets+=("$(basename "$source" _fuzz.c)")
	done
fi
mkdir -p "$build/findings" "$build/profiles"

# seconds_before <target> - what the log says it has had in all.
seconds_before() {
	awk -v target="$1" '$2 == target { sum += $3 } END { print sum + 0 }' "$log" 2>/dev/null
}

# The log: date, target, seconds, "s", total, "s in all", inputs tried, "found nothing" or a file.
note() {
	printf '%s %s %d s, %d s in all, %s inputs, seed %s: %s\n' \
		"$(date -u +%FT%TZ)" "$1" "$2" "$(($(seconds_before "$1") + $2))" "$3" "$4" "$5" |
		tee -a "$log"
}

# fuzz <target> - one run.
fuzz() {
	local target=$1 program=$build/fuzz/$1 corpus=$build/corpus/$1 out seed=$RANDOM$RANDOM
	local start=$SECONDS status runs verdict="found nothing"
	out=$build/findings/$target.out
	"$root/tests/fuzz/_corpus.py" unpack "$root/tests/fuzz/corpus/$target.txt" "$corpus" ||
		return 1
	LLVM_PROFILE_FILE=/dev/null "$program" "${limits[@]}" -seed="$seed" \
		-max_total_time="$seconds" -artifact_prefix="$build/findings/$target-" \
		-print_final_stats=1 "$corpus" >"$out" 2>&1 </dev/null
	status=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out")
	if ((status)); then
		verdict="FOUND $(sed -n 's/.*Test unit written to //p' "$out" | tail -n 1)"
		grep -E 'ERROR|not so|runtime error|SUMMARY' "$out" | head -n 8
	fi
	note "$target" "$((SECONDS - start))" "${runs:-0}" "$seed" "$verdict"
	return "$status"
}

# covered <target> - runs what the target has found so far, with counters.
covered() {
	LLVM_PROFILE_FILE=$build/profiles/$1.raw "$build/fuzz/$1" -runs=0 "$build/corpus/$1" \
		>/dev/null 2>&1 </dev/null
}

# coverage - lines of the files that parse, over all targets that have a profile.
coverage() {
	local objects=() target cov profdata
	cov=$(command -v llvm-cov llvm-cov-14 | head -n 1)
	profdata=$(command -v llvm-profdata llvm-profdata-14 | head -n 1)
	[[ -n $cov && -n $profdata ]] || return 0
	for target in "${targets[@]}"; do
		[[ -s $build/profiles/$target.raw ]] || continue
		((${#objects[@]})) && objects+=(-object)
		objects+=("$build/fuzz/$target")
	done
	((${#objects[@]})) || return 0
	"$profdata" merge -o "$build/profiles/all" "$build"/profiles/*.raw || return 1
	echo "Line coverage of the parsers:"
	(cd "$root" && "$cov" report "${objects[@]}" -instr-profile="$build/profiles/all" \
		abi/roce_pkt.c abi/roce_frame.c abi/dump.c nic/*.c kern/*.c \
		host/local.c host/registry.c host/door.c host/udp_rx.c host/seal.c \
		tools/frame.c tools/xfer_proto.c tools/xfer.c tools/send.c tools/recv.c \
		host/stats_ask.c abi/stats.c tools/stats.c tools/stats_print.c \
		tools/perf_proto.c tools/pcap_read.c tools/units.c soft/config.c fault/parse.c \
		lib/endpoint.c) |
		awk '/\.c / || /^TOTAL/ { printf "  %-24s %5d lines %7s\n", $1, $8, $10 }'
}

build=$(cd "$build" && pwd)
failed=0
for target in "${targets[@]}"; do
	fuzz "$target" || failed=1
	covered "$target"
done
coverage
exit $failed
