# SPDX-License-Identifier: BSD-2-Clause
#
# Instructions of the data path for an 8-byte inline write, counted by callgrind: post and ring, and
# poll, each per entry, at batch 1 and 64. Exits 1 where a bound is missed.
#
#   bash bench/lib_instructions.sh [BUILD]          table
#   bash bench/lib_instructions.sh BUILD --values   "NAME VALUE BOUND" lines
#
# A count is the difference of two runs of different length, so that what happens once drops out.
set -eu
build=${1:-build}
form=${2:-}
bench=$build/bench/lib_bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# collected BATCH ROUNDS FUNCTION... - instructions inside the functions.
collected() {
	local batch=$1 rounds=$2 toggles=() name
	shift 2
	for name; do
		toggles+=("--toggle-collect=$name")
	done
	valgrind --tool=callgrind --callgrind-out-file="$work/out" "${toggles[@]}" \
		"$bench" "$batch" "$rounds" 2>"$work/log" >/dev/null
	sed -n 's/^==[0-9]*== Collected : \([0-9]*\).*/\1/p' "$work/log"
}

# each BATCH FUNCTION... - instructions per entry, two decimals.
each() {
	local batch=$1 short long
	shift
	short=$(collected "$batch" 64 "$@")
	long=$(collected "$batch" 1088 "$@")
	awk -v a="$short" -v b="$long" -v n=$((1024 * batch)) 'BEGIN { printf "%.2f", (b - a) / n }'
}

missed=0
# figure NAME WORDS BOUND BATCH FUNCTION...
figure() {
	local name=$1 words=$2 bound=$3 value
	shift 3
	value=$(each "$@")
	if [ "$form" = --values ]; then
		echo "$name $value $bound"
	else
		printf '%-28s %6s instructions (bound %s)\n' "$words" "$value" "$bound"
	fi
	if awk -v v="$value" -v b="$bound" 'BEGIN { exit !(v > b) }'; then
		missed=1
	fi
}

figure lib_post_batch_1 'post and ring, batch 1' 80 1 rig_qp_post rig_qp_ring
figure lib_poll_batch_1 'poll, batch 1' 60 1 rig_cq_poll
figure lib_post_batch_64 'post and ring, batch 64' 45 64 rig_qp_post rig_qp_ring
figure lib_poll_batch_64 'poll, batch 64' 35 64 rig_cq_poll
exit $missed
