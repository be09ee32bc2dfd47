#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that mlx5dv_map_ah_to_qp does on the software NIC what its manual page says, in rdma-core's
# libmlx5 as it is and in librig5_mlx5dv.so, which exports that and ibv_destroy_ah and nothing else.
# By one program, linked with either, on Ethernet, on InfiniBand, and without the capability.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
[[ -e $build/tests/run_map_ah_dropin ]] || { echo "skipped: there is no libmlx5 to link with"; exit 77; }

exported=$(nm -D --defined-only "$build/librig5_mlx5dv.so" | awk '{ print $3 }' | sort | xargs)
[[ $exported == "ibv_destroy_ah mlx5dv_map_ah_to_qp" ]] || fail "the drop-in exports: $exported"

for program in run_map_ah run_map_ah_dropin; do
	uses=$(ldd "$build/tests/$program" | grep -c librig5_mlx5dv)
	[[ $program == run_map_ah ]] && wanted=0 || wanted=1
	((uses == wanted)) || fail "$program is linked with the wrong library"
	while IFS='|' read -r nic word; do
		echo "$program $nic"
		# shellcheck disable=SC2086
		timeout 60 "$rig5" run --nic "$nic" -- "$build/tests/$program" $word ||
			fail "$program on $nic"
	done <<-'END'
		addr=127.61.58.1|
		addr=127.61.58.1,ahmap=off|off
		ll=ib,lid=58|ib
	END
done
((failures == 0))
