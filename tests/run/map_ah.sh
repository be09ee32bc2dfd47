#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that mlx5dv_map_ah_to_qp does on the software NIC what its manual page says, in rdma-core's
# libmlx5 as it is and in librig5_mlx5dv.so, which exports that and ibv_destroy_ah and nothing else.
# By two programs, one for datagrams and one for DC, linked with either, on Ethernet, on InfiniBand,
# and without the capability; what a destination has is asked of the process, while it sends there,
# and seen behind a bottleneck that marks.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
[[ -e $build/tests/run_map_ah_dropin ]] || { echo "skipped: there is no libmlx5 to link with"; exit 77; }

exported=$(nm -D --defined-only "$build/librig5_mlx5dv.so" | awk '{ print $3 }' | sort | xargs)
[[ $exported == "ibv_destroy_ah mlx5dv_map_ah_to_qp" ]] || fail "the drop-in exports: $exported"

# clauses <program> - the rows of standard input, through either library.
clauses() {
	local rows program uses wanted words nics nic options
	rows=$(cat)
	for program in "run_$1" "run_$1_dropin"; do
		uses=$(ldd "$build/tests/$program" | grep -c librig5_mlx5dv)
		[[ $program == "run_$1" ]] && wanted=0 || wanted=1
		((uses == wanted)) || fail "$program is linked with the wrong library"
		while IFS='|' read -r words nics; do
			options=()
			for nic in $nics; do
				options+=(--nic "$nic")
			done
			echo "$program $nics"
			# shellcheck disable=SC2086
			timeout 60 "$rig5" run "${options[@]}" -- "$build/tests/$program" $words ||
				fail "$program on $nics"
		done <<<"$rows"
	done
}

clauses map_ah <<END
$rig5 127.61.58.2 127.61.58.3 dcqcn|addr=127.61.58.1 addr=127.61.58.2 addr=127.61.58.3
$rig5 127.61.58.2 127.61.58.3 rtt|addr=127.61.58.1,cc=rtt addr=127.61.58.2 addr=127.61.58.3
off|addr=127.61.58.1,ahmap=off
ib|ll=ib,lid=58
END
clauses map_ah_dc <<END
$rig5 127.61.58.2 127.61.58.3 dcqcn|addr=127.61.58.1 addr=127.61.58.2 addr=127.61.58.3
$rig5 127.61.58.2 127.61.58.3 rtt|addr=127.61.58.1,cc=rtt addr=127.61.58.2 addr=127.61.58.3
END
# What the algorithms do behind a bottleneck that marks.
export RIG5_FAULT='rate=1Gb/s,queue=2MB,mark=20kB'
for program in map_ah map_ah_dc; do
	clauses "$program" <<-END
	$rig5 127.61.58.2 127.61.58.3 rtt|addr=127.61.58.1,cc=rtt addr=127.61.58.2 addr=127.61.58.3
	END
done
((failures == 0))
