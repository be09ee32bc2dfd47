#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows enhanced connection establishment on a queue pair of each type, by rdma-core's calls: what is
# offered, what is agreed on, what is refused, and ece=plain, which offers nothing that is ours.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
[[ -x $build/tests/run_ece ]] || { echo "skipped: there is no libmlx5 to link with"; exit 77; }

while read -r word nic; do
	echo "$word $nic"
	timeout 60 "$rig5" run --nic "$nic" -- "$build/tests/run_ece" "$word" || fail "$word on $nic"
done <<-END
	own addr=127.61.59.1
	own addr=127.61.59.1,cc=rtt
	plain addr=127.61.59.1,ece=plain
END
finish
